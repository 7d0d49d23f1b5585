#include "policy/ops/cuda/device/launch.cuh"
#include "policy/ops/cuda/device/launch.h"
#include "policy/ops/cuda/device/numbers.cuh"
#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {
namespace {

constexpr int kThreads = 128, kPacks = 2;

__device__ float sigmoid(float x) { return __fdividef(1.0f, 1.0f + expf(-x)); }

// Of pack p of this thread; rows lie in the first dimension of the grid, which alone has room for them.
__device__ int pack_at(int p) { return int((blockIdx.y * kPacks + p) * kThreads + threadIdx.x) * 8; }

template <class T>
__global__ void __launch_bounds__(kThreads) swiglu_kernel(const T* gate_up, int width, T* y) {
  wait_for_previous();
  const T* row = gate_up + int64_t(blockIdx.x) * 2 * width;
  Pack<T, 8> gates[kPacks], ups[kPacks];
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    gates[p] = load_pack_if<8>(pack_at(p) < width, row + pack_at(p));
    ups[p] = load_pack_if<8>(pack_at(p) < width, row + width + pack_at(p));
  }
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    float gate[8], up[8];
    unpack(gates[p], gate);
    unpack(ups[p], up);
#pragma unroll
    for (int i = 0; i < 8; ++i) up[i] = gate[i] * sigmoid(gate[i]) * up[i];
    if (pack_at(p) < width) store_numbers(up, y + int64_t(blockIdx.x) * width + pack_at(p));
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    swiglu_backward_kernel(const T* d_y, T* gate_up, int width, T* y) {
  T* row = gate_up + int64_t(blockIdx.x) * 2 * width;
  const int64_t y_row = int64_t(blockIdx.x) * width;
  Pack<T, 8> gates[kPacks], ups[kPacks], ds[kPacks];
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    gates[p] = load_pack_if<8>(pack_at(p) < width, row + pack_at(p));
    ups[p] = load_pack_if<8>(pack_at(p) < width, row + width + pack_at(p));
    ds[p] = load_pack_if<8>(pack_at(p) < width, d_y + y_row + pack_at(p));
  }
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    float gate[8], up[8], d[8];
    unpack(gates[p], gate);
    unpack(ups[p], up);
    unpack(ds[p], d);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float s = sigmoid(gate[i]), silu = gate[i] * s, out = silu * up[i];
      gate[i] = d[i] * up[i] * fmaf(silu, 1.0f - s, s);
      up[i] = d[i] * silu;
      d[i] = out;
    }
    if (pack_at(p) >= width) continue;
    store_numbers(gate, row + pack_at(p));
    store_numbers(up, row + width + pack_at(p));
    store_numbers(d, y + y_row + pack_at(p));
  }
}

dim3 grid_of(int64_t rows, int64_t width) {
  constexpr int64_t kBlock = kThreads * kPacks * 8;
  return dim3(unsigned(rows), unsigned((width + kBlock - 1) / kBlock));
}

}  // namespace

void swiglu(DType dtype, const void* gate_up, int64_t rows, int64_t width, void* y, cudaStream_t stream) {
  check_numbers("swiglu", dtype, width);
  if (rows == 0) return;
  with_type(dtype, [&]<class T>(T) {
    launch_early(swiglu_kernel<T>, grid_of(rows, width), kThreads, 0, stream, "swiglu",
                 static_cast<const T*>(gate_up), int(width), static_cast<T*>(y));
  });
}

void swiglu_backward(DType dtype, const void* d_y, void* gate_up, int64_t rows, int64_t width, void* y,
                     cudaStream_t stream) {
  check_numbers("swiglu_backward", dtype, width);
  if (rows == 0) return;
  with_type(dtype, [&]<class T>(T) {
    swiglu_backward_kernel<<<grid_of(rows, width), kThreads, 0, stream>>>(
        static_cast<const T*>(d_y), static_cast<T*>(gate_up), int(width), static_cast<T*>(y));
  });
  check_launch("swiglu_backward");
}

}  // namespace temper::policy::cuda
