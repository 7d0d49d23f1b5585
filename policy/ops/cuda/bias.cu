#include "policy/ops/cuda/bias.h"

#include "policy/ops/cuda/device/launch.h"
#include "policy/ops/cuda/device/numbers.cuh"
#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {
namespace {

constexpr int kThreads = 128;

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

void add_bias_backward(DType dtype, const void* dy, int64_t rows, int64_t width, float* blocks, bool add,
                       float* d_bias, cudaStream_t stream) {
  if (!d_bias) return;
  check_numbers("add_bias_backward", dtype, width);
  const dim3 grid(blocks_for(width, kThreads * 8), unsigned(kNormBlocks));
  with_type(dtype, [&]<class T>(T) {
    bias_backward_kernel<<<grid, kThreads, 0, stream>>>(static_cast<const T*>(dy), rows, int(width), blocks);
  });
  check_launch("add_bias_backward");
  add_blocks(blocks, kNormBlocks, width, width, add, d_bias, stream);
}

}  // namespace temper::policy::cuda
