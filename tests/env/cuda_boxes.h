#pragma once
// What tests of CUDA candidates share: the toolkit, where there is one.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/error.h"
#include "env/compile/cuda_compile.h"
#include "env/compile/cuda_toolchains.h"
#include "env/languages/language.h"
#include "env/plan/cubin.h"

namespace temper::env {

// Another one in each process, as limits of processes count by user: tests run side by side.
inline const uid_t kCudaTestUser = 63'000 + uid_t(::getpid()) % 1'000;

// What compiles is not asked how long it takes on a busy machine, where niceness leaves it little.
inline CompileQuota cuda_test_quota() {
  CompileQuota quota = cuda_compile_quota();
  quota.wall = std::chrono::minutes(5);
  return quota;
}

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

#define SKIP_WITHOUT_NVCC()                                         \
  do {                                                              \
    std::string why_;                                               \
    if (!temper::env::cuda_toolchains(&why_)) GTEST_SKIP() << why_; \
  } while (0)

// Where TEMPER_CUDA is OFF there may be an nvcc without the program that plans.
#define SKIP_WITHOUT_RECORDER()                                           \
  do {                                                                    \
    SKIP_WITHOUT_NVCC();                                                  \
    if (!std::filesystem::exists(TEMPER_BINARY_DIR "/temper-recorder"))   \
      GTEST_SKIP() << "temper-recorder is not built: TEMPER_CUDA is OFF"; \
  } while (0)

inline CompileResult compile_cuda(const std::string& source, const CompileQuota& quota = cuda_test_quota()) {
  return compile_cuda(cuda_toolchains()->of(source), source, {}, quota, kCudaTestUser).result;
}

}  // namespace temper::env
