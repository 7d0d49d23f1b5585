#include <cmath>

#include "policy/ops/cuda/device/launch.cuh"
#include "policy/ops/cuda/device/launch.h"
#include "policy/ops/cuda/ops.h"
#include "policy/ops/cuda/rope_head.cuh"

namespace temper::policy::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kAtOnce = 3;  // heads under way in a lane: with 16 slots 48, all of Qwen3-8B's

struct Weights {
  const void *q, *k;
};

template <int kHeadDim, class T>
__device__ void normalise(HeadValues& v, float eps, const T* weight) {
  const HeadValues w = unpack_head(load_head<kHeadDim>(true, weight));
  const float rstd = head_rstd<kHeadDim>(v, eps);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    v.low[i] = v.low[i] * rstd * w.low[i];
    v.high[i] = v.high[i] * rstd * w.high[i];
  }
}

// What a lane writes of query or key head x.
template <int kHeadDim, bool kNormed, class T>
__device__ HeadPacks<T> norm_rope(const HeadPacks<T>& x, float eps, const T* weight, const Angles& angles) {
  HeadValues v = unpack_head(x);
  if constexpr (kNormed) normalise<kHeadDim>(v, eps, weight);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float a = v.low[i], b = v.high[i];
    v.low[i] = fmaf(a, angles.cos[i], -(b * angles.sin[i]));
    v.high[i] = fmaf(b, angles.cos[i], a * angles.sin[i]);
  }
  return pack_head<T>(v);
}

template <class T, int kHeadDim>
constexpr bool kInPages = sizeof(T) == 2 && is_attention_head(kHeadDim);

// Where a row's token lies in the pages of its sequence.
struct Slot {
  int64_t page;
  int token;
};

__device__ Slot find_slot(const Pages& pages, int position) {
  const int64_t row = pages.row ? pages.row[blockIdx.x] : int32_t(blockIdx.x);
  return {pages.table[row * pages.max_pages + position / int(kPageTokens)], position % int(kPageTokens)};
}

template <int kHeadDim>
__device__ void store_in_page(const HeadPacks<__nv_bfloat16>& packs, const Slot& slot, int kv_heads,
                              int kv_head, int is_value, void* base) {
  __nv_bfloat16* page = static_cast<__nv_bfloat16*>(base) +
                        ((slot.page * kv_heads + kv_head) * 2 + is_value) * kPageTokens * kHeadDim;
  const int low = int(threadIdx.x) % kHeadLanes<kHeadDim>, high = low + kHeadLanes<kHeadDim>;
  const int swap = slot.token % 8;
  __nv_bfloat16* row = page + slot.token * kHeadDim;
  store_pack(packs.low, row + (low ^ swap) * 8);
  store_pack(packs.high, row + (high ^ swap) * 8);
}

// One block a row.
template <class T, int kHeadDim, bool kNormed>
__global__ void __launch_bounds__(kThreads)
    qk_norm_rope_kernel(Heads heads, Weights weights, float eps, const float* table, const T* qkv,
                        const int32_t* positions, Pages pages, T* qk) {
  constexpr int kSlots = kThreads / kHeadLanes<kHeadDim>;
  const int mine = int(threadIdx.x) / kHeadLanes<kHeadDim>, all = pages.base ? heads.qkv() : heads.qk();
  const T* x = qkv + int64_t(blockIdx.x) * heads.qkv() * kHeadDim;
  T* y = qk + int64_t(blockIdx.x) * heads.qk() * kHeadDim;
  if (pages.base) start_next();
  wait_for_previous();
  const int position = positions[blockIdx.x];
  Angles angles;
  Slot slot = {};
  for (int first = 0; first < all; first += kSlots * kAtOnce) {
    HeadPacks<T> packs[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int h = first + i * kSlots + mine;
      packs[i] = load_head<kHeadDim>(h < all, x + h * kHeadDim);
    }
    if (first == 0) {  // behind the first loads, which need not wait for the position
      angles = load_angles<kHeadDim>(table, position);
      if (pages.base) slot = find_slot(pages, position);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int h = first + i * kSlots + mine;
      const T* weight = static_cast<const T*>(h < heads.q ? weights.q : weights.k);
      const HeadPacks<T> turned = norm_rope<kHeadDim, kNormed>(packs[i], eps, weight, angles);
      if (h < heads.qk()) store_head<kHeadDim>(turned, y + h * kHeadDim);
      if constexpr (kInPages<T, kHeadDim>) {
        if (pages.base == nullptr || h < heads.q || h >= all) continue;
        if (h < heads.qk())
          store_in_page<kHeadDim>(turned, slot, heads.kv, h - heads.q, 0, pages.base);
        else
          store_in_page<kHeadDim>(packs[i], slot, heads.kv, h - heads.qk(), 1, pages.base);
      }
    }
  }
}

}  // namespace

void fill_rope_table(int64_t positions, const std::vector<double>& frequencies, float* table) {
  const int64_t half = int64_t(frequencies.size()), head_dim = 2 * half;
  for (int64_t i = 0; i < half; ++i) {
    const double frequency = frequencies[size_t(i)];
    for (int64_t p = 0; p < positions; ++p) {
      table[p * head_dim + i] = float(std::cos(double(p) * frequency));
      table[p * head_dim + half + i] = float(std::sin(double(p) * frequency));
    }
  }
}

void qk_norm_rope(DType dtype, const AttentionShape& shape, const void* q_weight, const void* k_weight,
                  double eps, const float* table, const void* qkv, const int32_t* positions, int64_t rows,
                  const Pages& pages, void* qk, cudaStream_t stream) {
  check_heads("qk_norm_rope", dtype, shape.head_dim, pages.base != nullptr);
  require((q_weight == nullptr) == (k_weight == nullptr), "qk_norm_rope: one of two weights");
  if (rows == 0) return;
  with_type(dtype, [&]<class T>(T) {
    with_head_dim(shape.head_dim, [&]<int kHeadDim>() {
      const auto kernel =
          q_weight ? qk_norm_rope_kernel<T, kHeadDim, true> : qk_norm_rope_kernel<T, kHeadDim, false>;
      launch_early(kernel, unsigned(rows), kThreads, 0, stream, "qk_norm_rope", Heads(shape),
                   Weights{q_weight, k_weight}, float(eps), table, static_cast<const T*>(qkv), positions,
                   pages, static_cast<T*>(qk));
    });
  });
}

}  // namespace temper::policy::cuda
