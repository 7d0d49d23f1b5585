#include "env/compile/cuda_toolchains.h"

#include "env/languages/cuda_text.h"

namespace temper::env {

CudaToolchains::CudaToolchains(std::vector<std::string> flags, std::string entry, std::string architecture,
                               std::filesystem::path headers)
    : flags_(std::move(flags)),
      entry_(std::move(entry)),
      architecture_(std::move(architecture)),
      headers_(find_cuda_toolchain(flags_, entry_, architecture_), std::move(headers)) {}

const CudaToolchain& CudaToolchains::of(const std::string& unit) {
  if (!has_extended_lambda(unit)) return headers_.of(unit);
  if (!with_lambdas_) {
    std::vector<std::string> flags = flags_;
    flags.emplace_back("--extended-lambda");
    with_lambdas_ = find_cuda_toolchain(flags, entry_, architecture_);
  }
  return *with_lambdas_;
}

}  // namespace temper::env
