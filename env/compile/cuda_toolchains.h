#pragma once
// Which of its toolchains a CUDA candidate is compiled with.

#include "env/compile/cuda_headers.h"

namespace temper::env {

// Lambdas that kernels call (`[=] __device__ …`) make nvcc read a large part of the standard library, and
// take 1.6 times as long: only units that have some are compiled so.
class CudaToolchains {
 public:
  // `headers`: the folder of CudaHeaders. Errors: as find_cuda_toolchain.
  CudaToolchains(std::vector<std::string> flags, std::string entry, std::string architecture,
                 std::filesystem::path headers = {});
  const CudaToolchain& of(const std::string& unit);
  const CudaToolchain& plain() const { return headers_.plain(); }
  CudaHeaders& headers() { return headers_; }

 private:
  std::vector<std::string> flags_;
  std::string entry_, architecture_;
  CudaHeaders headers_;
  std::optional<CudaToolchain> with_lambdas_;  // once a unit has asked for it
};

}  // namespace temper::env
