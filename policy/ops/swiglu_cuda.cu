#include "policy/ops/cuda.h"
#include "policy/ops/cuda_numbers.cuh"

namespace temper::cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void swiglu_kernel(const T* gate_up, int64_t rows, int64_t width, T* y) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= rows * width) return;
  const T* gate = gate_up + i / width * 2 * width + i % width;
  const float g = to_float(gate[0]), up = to_float(gate[width]);
  from_float(g / (1 + __expf(-g)) * up, y[i]);
}

template <class T>
void launch(const void* gate_up, int64_t rows, int64_t width, void* y, cudaStream_t stream) {
  const int64_t blocks = (rows * width + kThreads - 1) / kThreads;
  swiglu_kernel<<<unsigned(blocks), kThreads, 0, stream>>>(static_cast<const T*>(gate_up), rows, width,
                                                           static_cast<T*>(y));
}

}  // namespace

void swiglu(DType dtype, const void* gate_up, int64_t rows, int64_t width, void* y, cudaStream_t stream) {
  if (rows * width == 0) return;
  (dtype == DType::kBF16 ? launch<__nv_bfloat16> : launch<float>)(gate_up, rows, width, y, stream);
  check(cudaGetLastError(), "swiglu");
}

}  // namespace temper::cuda
