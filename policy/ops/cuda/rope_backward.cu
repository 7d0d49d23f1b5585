#include "policy/ops/cuda/device/launch.h"
#include "policy/ops/cuda/ops.h"
#include "policy/ops/cuda/rope_head.cuh"

namespace temper::policy::cuda {
namespace {

constexpr int kWarps = 8;

// One lane's share of the weights' gradient.
struct WeightSums {
  HeadValues q, k;
};

__device__ void add(const float (&dy)[8], const float (&unit)[8], float (&sum)[8]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) sum[i] = fmaf(dy[i], unit[i], sum[i]);
}

// dy becomes the gradient before the rotation.
__device__ void turn_back(HeadValues& dy, const Angles& angles) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float a = dy.low[i], b = dy.high[i];
    dy.low[i] = fmaf(a, angles.cos[i], b * angles.sin[i]);
    dy.high[i] = fmaf(b, angles.cos[i], -(a * angles.sin[i]));
  }
}

// x becomes the normalised head; returns the head's gradient.
template <int kHeadDim>
__device__ HeadValues backward_norm(const HeadValues& dy, HeadValues& x, const HeadValues& w, float eps) {
  const float rstd = head_rstd<kHeadDim>(x, eps);
  float dot = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    x.low[i] *= rstd;
    x.high[i] *= rstd;
    dot = fmaf(dy.low[i] * w.low[i], x.low[i], dot);
    dot = fmaf(dy.high[i] * w.high[i], x.high[i], dot);
  }
  const float mean = sum_over_lanes<kHeadLanes<kHeadDim>>(dot) / float(kHeadDim);
  HeadValues dx;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    dx.low[i] = rstd * fmaf(w.low[i], dy.low[i], -(x.low[i] * mean));
    dx.high[i] = rstd * fmaf(w.high[i], dy.high[i], -(x.high[i] * mean));
  }
  return dx;
}

// Adds up over the block, lanes that hold the same columns first, then warps in order.
template <int kHeadDim>
__device__ void store_weight_sums(const WeightSums& sums, float* dw) {
  __shared__ float of_warp[kWarps][2 * kHeadDim];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    float sum = i < 8    ? sums.q.low[i % 8]
                : i < 16 ? sums.q.high[i % 8]
                : i < 24 ? sums.k.low[i % 8]
                         : sums.k.high[i % 8];
#pragma unroll
    for (int step = kHeadLanes<kHeadDim>; step < 32; step *= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (lane < kHeadLanes<kHeadDim>) of_warp[warp][i / 8 * (kHeadDim / 2) + lane * 8 + i % 8] = sum;
  }
  __syncthreads();
  if (threadIdx.x >= 2 * kHeadDim) return;
  float sum = 0;
  for (int i = 0; i < kWarps; ++i) sum += of_warp[i][threadIdx.x];
  dw[threadIdx.x] = sum;
}

// One warp a row at a time, some heads at once; the next ones are under way while these are computed. Without
// a norm, its input is not read.
template <class T, int kHeadDim, bool kNormed>
__global__ void __launch_bounds__(kWarps * 32, 2)
    qk_norm_rope_backward_kernel(Heads heads, const T* q_weight, const T* k_weight, float eps,
                                 const float* table, const T* qkv, const int32_t* positions, int64_t rows,
                                 T* d_qkv, float* dw_blocks) {
  constexpr int kSlots = 32 / kHeadLanes<kHeadDim>;
  const int slot = int(threadIdx.x) % 32 / kHeadLanes<kHeadDim>;
  const int64_t width = heads.qkv() * kHeadDim;
  WeightSums sums = {};
  for (int64_t r = blockIdx.x * kWarps + threadIdx.x / 32; r < rows; r += gridDim.x * kWarps) {
    const T* x_row = qkv + r * width;
    T* d_row = d_qkv + r * width;
    HeadPacks<T> x_next = load_head<kHeadDim>(kNormed && slot < heads.qk(), x_row + slot * kHeadDim);
    HeadPacks<T> d_next = load_head<kHeadDim>(slot < heads.qk(), d_row + slot * kHeadDim);
    const Angles angles = load_angles<kHeadDim>(table, positions[r]);
    for (int first = 0; first < heads.qk(); first += kSlots) {
      const int h = first + slot, after = h + kSlots;
      HeadValues x = unpack_head(x_next), dy = unpack_head(d_next);
      x_next = load_head<kHeadDim>(kNormed && after < heads.qk(), x_row + after * kHeadDim);
      d_next = load_head<kHeadDim>(after < heads.qk(), d_row + after * kHeadDim);
      turn_back(dy, angles);
      HeadValues dx = dy;
      if constexpr (kNormed) {
        const HeadValues w = unpack_head(load_head<kHeadDim>(true, h < heads.q ? q_weight : k_weight));
        dx = backward_norm<kHeadDim>(dy, x, w, eps);
      }
      if (h >= heads.qk()) continue;
      store_head<kHeadDim>(pack_head<T>(dx), d_row + h * kHeadDim);
      if (!kNormed) continue;
      if (h < heads.q) {
        add(dy.low, x.low, sums.q.low);
        add(dy.high, x.high, sums.q.high);
      } else {
        add(dy.low, x.low, sums.k.low);
        add(dy.high, x.high, sums.k.high);
      }
    }
  }
  store_weight_sums<kHeadDim>(sums, dw_blocks + int64_t(blockIdx.x) * 2 * kHeadDim);
}

}  // namespace

void qk_norm_rope_backward(DType dtype, const AttentionShape& shape, const void* q_weight,
                           const void* k_weight, double eps, const float* table, const void* qkv,
                           const int32_t* positions, int64_t rows, void* d_qkv, float* dw_blocks,
                           cudaStream_t stream) {
  check_heads("qk_norm_rope_backward", dtype, shape.head_dim, false);
  require((q_weight == nullptr) == (k_weight == nullptr), "qk_norm_rope_backward: one of two weights");
  with_type(dtype, [&]<class T>(T) {
    with_head_dim(shape.head_dim, [&]<int kHeadDim>() {
      const auto kernel = q_weight ? qk_norm_rope_backward_kernel<T, kHeadDim, true>
                                   : qk_norm_rope_backward_kernel<T, kHeadDim, false>;
      kernel<<<kNormBlocks, kWarps * 32, 0, stream>>>(
          Heads(shape), static_cast<const T*>(q_weight), static_cast<const T*>(k_weight), float(eps), table,
          static_cast<const T*>(qkv), positions, rows, static_cast<T*>(d_qkv), dw_blocks);
    });
  });
  check_launch("qk_norm_rope_backward");
}

}  // namespace temper::policy::cuda
