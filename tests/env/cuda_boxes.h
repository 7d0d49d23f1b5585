#pragma once
// What tests of CUDA candidates share: the toolkit, where there is one.

#include <gtest/gtest.h>

#include <optional>

#include "base/error.h"
#include "env/box/cuda_compile.h"
#include "env/box/cuda_toolchains.h"
#include "env/cuda/cubin.h"
#include "env/languages/language.h"

namespace temper {

inline constexpr uid_t kCudaTestUser = 64'901;

// Nothing where no nvcc is found; `why` says so.
inline CudaToolchains* cuda_toolchains(std::string* why = nullptr) {
  static std::string problem;
  static auto tools = []() -> std::optional<CudaToolchains> {
    try {
      return CudaToolchains(kCuda.compiler_flags, kCuda.entry_point, "sm_90a");
    } catch (const WorldError& e) {
      problem = e.what();
      return std::nullopt;
    }
  }();
  if (why != nullptr) *why = problem;
  return tools ? &*tools : nullptr;
}

#define SKIP_WITHOUT_NVCC()                            \
  do {                                                 \
    std::string why_;                                  \
    if (!cuda_toolchains(&why_)) GTEST_SKIP() << why_; \
  } while (0)

inline CompileResult compile_cuda(const std::string& source,
                                  const CompileQuota& quota = cuda_compile_quota()) {
  return compile_cuda(cuda_toolchains()->of(source), source, {}, quota, kCudaTestUser).result;
}

}  // namespace temper
