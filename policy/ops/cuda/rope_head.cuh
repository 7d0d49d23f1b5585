#pragma once
// How lanes share the heads of a row: hd / 16 neighbouring lanes a head, each with 8 numbers of either half,
// so that a pair to rotate is in one lane.

#include "policy/ops/attention_shape.h"
#include "policy/ops/cuda/device/numbers.cuh"
#include "policy/ops/cuda/device/reduce.cuh"

namespace temper::policy::cuda {

// AttentionShape's counts for device code.
struct Heads {
  int q, kv;
  explicit Heads(const AttentionShape& shape) : q(int(shape.heads)), kv(int(shape.kv_heads)) {}
  __device__ int qk() const { return q + kv; }
  __device__ int qkv() const { return q + 2 * kv; }
};

template <int kHeadDim>
constexpr int kHeadLanes = kHeadDim / 16;

// One lane's numbers of a head.
template <class T>
struct HeadPacks {
  Pack<T, 8> low, high;
};

template <int kHeadDim, class T>
__device__ HeadPacks<T> load_head(bool there, const T* head) {
  const int at = int(threadIdx.x) % kHeadLanes<kHeadDim> * 8;
  return {load_pack_if<8>(there, head + at), load_pack_if<8>(there, head + kHeadDim / 2 + at)};
}

template <int kHeadDim, class T>
__device__ void store_head(const HeadPacks<T>& packs, T* head) {
  const int at = int(threadIdx.x) % kHeadLanes<kHeadDim> * 8;
  store_pack(packs.low, head + at);
  store_pack(packs.high, head + kHeadDim / 2 + at);
}

// The same as values.
struct HeadValues {
  float low[8], high[8];
};

template <class T>
__device__ HeadValues unpack_head(const HeadPacks<T>& packs) {
  HeadValues values;
  unpack(packs.low, values.low);
  unpack(packs.high, values.high);
  return values;
}

template <class T>
__device__ HeadPacks<T> pack_head(const HeadValues& values) {
  HeadPacks<T> packs;
  pack_numbers(values.low, packs.low);
  pack_numbers(values.high, packs.high);
  return packs;
}

struct Angles {
  float cos[8], sin[8];
};

template <int kHeadDim>
__device__ Angles load_angles(const float* table, int position) {
  const HeadPacks<float> packs = load_head<kHeadDim>(true, table + int64_t(position) * kHeadDim);
  Angles angles;
  unpack(packs.low, angles.cos);
  unpack(packs.high, angles.sin);
  return angles;
}

// 1 / sqrt(mean of squares + eps) of a head; every lane of the warp takes part.
template <int kHeadDim>
__device__ float head_rstd(const HeadValues& x, float eps) {
  float squares = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    squares = fmaf(x.low[i], x.low[i], squares);
    squares = fmaf(x.high[i], x.high[i], squares);
  }
  return rsqrtf(sum_over_lanes<kHeadLanes<kHeadDim>>(squares) / float(kHeadDim) + eps);
}

// f with the head's width as a constant.
template <class F>
void with_head_dim(int64_t head_dim, const F& f) {
  if (head_dim == 128) return f.template operator()<128>();
  if (head_dim == 64) return f.template operator()<64>();
  f.template operator()<32>();
}

}  // namespace temper::policy::cuda
