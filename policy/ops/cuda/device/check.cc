#include "base/error.h"
#include "policy/ops/cuda/device/launch.h"
#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw WorldError("{}: {}", what, cudaGetErrorString(error));
}

void require(bool right, const char* what) { TEMPER_CHECK(right, "{}", what); }

void check_launch(const char* op) { check(cudaGetLastError(), op); }

void check_numbers(const char* op, DType dtype, int64_t width, int64_t widest) {
  TEMPER_CHECK(dtype == DType::kF32 || dtype == DType::kBF16, "{}: {}", op, to_string(dtype));
  TEMPER_CHECK(width > 0 && width % 8 == 0 && width <= widest, "{}: width {}", op, width);
}

void check_heads(const char* op, DType dtype, int64_t head_dim, bool pages) {
  check_numbers(op, dtype, head_dim);
  TEMPER_CHECK(head_dim == 32 || head_dim == 64 || head_dim == 128, "{}: head_dim {}", op, head_dim);
  TEMPER_CHECK(!pages || (dtype == DType::kBF16 && is_attention_head(head_dim)), "{}: {} pages, head_dim {}",
               op, to_string(dtype), head_dim);
}

}  // namespace temper::policy::cuda
