#include "policy/ops/cuda/device/launch.cuh"
#include "policy/ops/cuda/device/launch.h"
#include "policy/ops/cuda/device/numbers.cuh"
#include "policy/ops/cuda/device/reduce.cuh"
#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {
namespace {

// One block a row, which lies in registers: thread t has packs t, t + kThreads, …
template <class T, int kThreads, int kPacks>
__global__ void __launch_bounds__(kThreads)
    rms_norm_kernel(const T* x, const int32_t* index, const T* w, float eps, int width, T* y) {
  __shared__ float2 of_warp[kThreads / 32];
  wait_for_previous();
  const T* row = x + int64_t(index ? index[blockIdx.x] : int32_t(blockIdx.x)) * width;
  Pack<T, 8> x_packs[kPacks], w_packs[kPacks];
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int at = (p * kThreads + int(threadIdx.x)) * 8;
    x_packs[p] = load_pack_if<8>(at < width, row + at);
    w_packs[p] = load_pack_if<8>(at < width, w + at);
  }
  float squares = 0;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    float values[8];
    unpack(x_packs[p], values);
#pragma unroll
    for (float v : values) squares = fmaf(v, v, squares);
  }
  const float rstd = rsqrtf(__fdividef(sum_over_block<kThreads>(squares, 0, of_warp).x, float(width)) + eps);
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int at = (p * kThreads + int(threadIdx.x)) * 8;
    float values[8], weights[8];
    unpack(x_packs[p], values);
    unpack(w_packs[p], weights);
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i] = values[i] * rstd * weights[i];
    if (at < width) store_numbers(values, y + int64_t(blockIdx.x) * width + at);
  }
}

template <class T, int kPacks>
struct BackwardRow {
  Pack<T, 8> dy[kPacks], x[kPacks], dx[kPacks];
  int64_t at;  // of the row in x and dx
};

template <int kThreads, int kPacks, class T>
__device__ BackwardRow<T, kPacks> load_row(const T* dy, const T* x, const int32_t* index, const T* dx,
                                           int64_t r, int width) {
  BackwardRow<T, kPacks> row;
  row.at = (index ? index[r] : r) * width;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int at = (p * kThreads + int(threadIdx.x)) * 8;
    row.dy[p] = load_pack_if<8>(at < width, dy + r * width + at);
    row.x[p] = load_pack_if<8>(at < width, x + row.at + at);
    row.dx[p] = load_pack_if<8>(at < width, dx + row.at + at);
  }
  return row;
}

// Block b takes rows b, b + blocks, …; the next one is under way while one is computed. A thread's columns
// are the same in all of them: it adds up their weights' gradient.
template <class T, int kThreads, int kPacks>
__global__ void __launch_bounds__(kThreads, kThreads <= 512 ? 2 : 1)
    rms_norm_backward_kernel(const T* dy, const T* x, const int32_t* index, const T* w, float eps,
                             int64_t rows, int width, T* dx, float* dw_blocks) {
  __shared__ float2 of_warp[2][kThreads / 32];
  float dw[kPacks][8] = {};
  Pack<T, 8> w_packs[kPacks];
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int at = (p * kThreads + int(threadIdx.x)) * 8;
    w_packs[p] = load_pack_if<8>(at < width, w + at);
  }
  BackwardRow<T, kPacks> row, next;
  if (blockIdx.x < rows) next = load_row<kThreads, kPacks>(dy, x, index, dx, blockIdx.x, width);
  int turn = 0;
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x, turn ^= 1) {
    row = next;
    if (r + gridDim.x < rows) next = load_row<kThreads, kPacks>(dy, x, index, dx, r + gridDim.x, width);
    float squares = 0, dot = 0;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      float xs[8], dys[8], weights[8];
      unpack(row.x[p], xs);
      unpack(row.dy[p], dys);
      unpack(w_packs[p], weights);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        squares = fmaf(xs[i], xs[i], squares);
        dot = fmaf(dys[i] * weights[i], xs[i], dot);
      }
    }
    const float2 sums = sum_over_block<kThreads>(squares, dot, of_warp[turn]);
    const float rstd = rsqrtf(__fdividef(sums.x, float(width)) + eps),
                mean = __fdividef(sums.y * rstd, float(width));
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      float xs[8], dys[8], weights[8], dxs[8];
      unpack(row.x[p], xs);
      unpack(row.dy[p], dys);
      unpack(w_packs[p], weights);
      unpack(row.dx[p], dxs);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float unit = xs[i] * rstd;
        dw[p][i] = fmaf(dys[i], unit, dw[p][i]);
        dxs[i] = fmaf(rstd, fmaf(weights[i], dys[i], -unit * mean), dxs[i]);
      }
      const int at = (p * kThreads + int(threadIdx.x)) * 8;
      if (at < width) store_numbers(dxs, dx + row.at + at);
    }
  }
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int at = (p * kThreads + int(threadIdx.x)) * 8;
    if (at < width) store_numbers(dw[p], dw_blocks + int64_t(blockIdx.x) * width + at);
  }
}

constexpr int kColumns = 32, kGroups = 32;

// A group of threads adds up consecutive blocks, the first of them the groups.
__global__ void __launch_bounds__(kColumns* kGroups)
    add_blocks_kernel(const float* dw_blocks, int blocks, int64_t stride, int64_t width, bool add,
                      float* dw) {
  __shared__ float sums[kGroups][kColumns];
  const int64_t column = int64_t(blockIdx.x) * kColumns + threadIdx.x;
  const int group = int(threadIdx.y), each = (blocks + kGroups - 1) / kGroups;
  float sum = 0;
  if (column < width) {
#pragma unroll 4
    for (int b = group * each; b < min(blocks, (group + 1) * each); ++b)
      sum += dw_blocks[b * stride + column];
  }
  sums[group][threadIdx.x] = sum;
  __syncthreads();
  if (group > 0 || column >= width) return;
  for (int g = 1; g < kGroups; ++g) sum += sums[g][threadIdx.x];
  dw[column] = (add ? dw[column] : 0) + sum;
}

}  // namespace

void rms_norm(DType dtype, const void* x, const int32_t* index, const void* w, double eps, int64_t rows,
              int64_t width, void* y, cudaStream_t stream) {
  check_numbers("rms_norm", dtype, width, 65536);
  if (rows == 0) return;
  with_type(dtype, [&]<class T>(T) {
    const auto run = [&](auto kernel, int threads) {
      launch_early(kernel, unsigned(rows), threads, 0, stream, "rms_norm", static_cast<const T*>(x), index,
                   static_cast<const T*>(w), float(eps), int(width), static_cast<T*>(y));
    };
    // By the width alone: every row has the same bits wherever it stands.
    if (width <= 512) return run(rms_norm_kernel<T, 64, 1>, 64);
    if (width <= 2048) return run(rms_norm_kernel<T, 256, 1>, 256);
    if (width <= 4096) return run(rms_norm_kernel<T, 256, 2>, 256);
    if (width <= 8192) return run(rms_norm_kernel<T, 256, 4>, 256);
    if (width <= 16384) return run(rms_norm_kernel<T, 512, 4>, 512);
    run(rms_norm_kernel<T, 1024, 8>, 1024);
  });
}

void rms_norm_backward(DType dtype, const void* dy, const void* x, const int32_t* index, const void* w,
                       double eps, int64_t rows, int64_t width, void* dx, float* dw_blocks,
                       cudaStream_t stream) {
  check_numbers("rms_norm_backward", dtype, width, 65536);
  with_type(dtype, [&]<class T>(T) {
    const auto run = [&](auto kernel, int threads) {
      kernel<<<kNormBlocks, threads, 0, stream>>>(static_cast<const T*>(dy), static_cast<const T*>(x), index,
                                                  static_cast<const T*>(w), float(eps), rows, int(width),
                                                  static_cast<T*>(dx), dw_blocks);
    };
    if (width <= 512) return run(rms_norm_backward_kernel<T, 64, 1>, 64);
    if (width <= 2048) return run(rms_norm_backward_kernel<T, 256, 1>, 256);
    if (width <= 4096) return run(rms_norm_backward_kernel<T, 512, 1>, 512);
    if (width <= 8192) return run(rms_norm_backward_kernel<T, 1024, 1>, 1024);
    if (width <= 16384) return run(rms_norm_backward_kernel<T, 1024, 2>, 1024);
    run(rms_norm_backward_kernel<T, 1024, 8>, 1024);
  });
  check_launch("rms_norm_backward");
}

void add_blocks(const float* dw_blocks, int64_t blocks, int64_t stride, int64_t width, bool add, float* dw,
                cudaStream_t stream) {
  if (width == 0) return;
  add_blocks_kernel<<<unsigned((width + kColumns - 1) / kColumns), dim3(kColumns, kGroups), 0, stream>>>(
      dw_blocks, int(blocks), stride, width, add, dw);
  check_launch("add_blocks");
}

}  // namespace temper::policy::cuda
