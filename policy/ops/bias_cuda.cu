#include "policy/ops/bias_cuda.h"

#include "policy/ops/cuda.h"
#include "policy/ops/cuda_launch.cuh"
#include "policy/ops/cuda_launch.h"
#include "policy/ops/cuda_numbers.cuh"

namespace temper::cuda {
namespace {

constexpr int kThreads = 128, kPacks = 2;

// Rows lie in the first dimension of the grid, which alone has room for them.
template <class T>
__global__ void __launch_bounds__(kThreads) add_bias_kernel(const T* bias, int width, T* y) {
  wait_for_previous();
  T* row = y + int64_t(blockIdx.x) * width;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int at = int((blockIdx.y * kPacks + p) * kThreads + threadIdx.x) * 8;
    if (at >= width) continue;
    float values[8], added[8];
    unpack(load_pack<8>(row + at), values);
    unpack(load_pack<8>(bias + at), added);
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i] += added[i];
    store_numbers(values, row + at);
  }
}

// Block (c, b) adds up eight columns a thread over rows b, b + blocks, …
template <class T>
__global__ void __launch_bounds__(kThreads)
    bias_backward_kernel(const T* dy, int64_t rows, int width, float* blocks) {
  const int column = int(blockIdx.x * kThreads + threadIdx.x) * 8;
  if (column >= width) return;
  float sums[8] = {};
#pragma unroll 4
  for (int64_t r = blockIdx.y; r < rows; r += gridDim.y) {
    float values[8];
    unpack(load_pack<8>(dy + r * width + column), values);
#pragma unroll
    for (int i = 0; i < 8; ++i) sums[i] += values[i];
  }
  store_numbers(sums, blocks + int64_t(blockIdx.y) * width + column);
}

unsigned blocks_for(int64_t width, int64_t columns) { return unsigned((width + columns - 1) / columns); }

}  // namespace

void add_bias(DType dtype, const void* bias, int64_t rows, int64_t width, void* y, cudaStream_t stream) {
  if (!bias) return;
  check_numbers("add_bias", dtype, width);
  if (rows == 0) return;
  const dim3 grid(unsigned(rows), blocks_for(width, kThreads * kPacks * 8));
  with_type(dtype, [&]<class T>(T) {
    launch_early(add_bias_kernel<T>, grid, kThreads, 0, stream, "add_bias", static_cast<const T*>(bias),
                 int(width), static_cast<T*>(y));
  });
}

void add_bias_backward(DType dtype, const void* dy, int64_t rows, int64_t width, float* blocks, float* d_bias,
                       cudaStream_t stream) {
  if (!d_bias) return;
  check_numbers("add_bias_backward", dtype, width);
  const dim3 grid(blocks_for(width, kThreads * 8), unsigned(kNormBlocks));
  with_type(dtype, [&]<class T>(T) {
    bias_backward_kernel<<<grid, kThreads, 0, stream>>>(static_cast<const T*>(dy), rows, int(width), blocks);
  });
  check_launch("add_bias_backward");
  add_blocks(blocks, kNormBlocks, width, width, d_bias, stream);
}

}  // namespace temper::cuda
