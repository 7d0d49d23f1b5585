#pragma once
// Where top-k and top-p cut a row of logits. Scoring and sampling both look for the cut here, operation by
// operation, so that they keep the same tokens.
//
// A cut is found bit by bit: the count and the weight of the logits from a cut on fall as the cut rises, in
// rounded sums too, since each is added up in the same order over fewer addends. That takes as many readings
// of the row as its numbers have bits; a row stays in the L2 cache.

#include "policy/ops/cuda/lm_head_row.cuh"

namespace temper::policy::cuda {

struct DeviceTruncation {
  float top_p;
  int32_t top_k;  // 0: no limit

  __device__ bool any() const { return top_k > 0 || top_p < 1; }
};

__device__ inline float weight(float x, float max, float scale2) {
  return exp2_fast(__fmul_rn(__fsub_rn(x, max), scale2));
}

// The float whose place among all floats, in ascending order, begins with these bits; those at the ends are
// no numbers.
__device__ inline float float_at(uint32_t place) {
  return __uint_as_float(place & 0x80000000u ? place & 0x7fffffffu : ~place);
}

// How many of a row's logits are not below a cut, and Σ 2^z of them, by a block of kHeadThreads. Each call
// must have the other buffer than the one before: a buffer may still be read when a call returns.
template <class T>
__device__ float2 count_and_weigh(const T* row, int tokens, float max, float scale2, KeepFrom keep,
                                  float2* buffer) {
  float count = 0, sum = 0;
  const int warp = int(threadIdx.x) / 32, tiles = (tokens + kTile<T> - 1) / kTile<T>;
  for (int tile = warp; tile < tiles; tile += kHeadWarps) {
    const TilePacks<T> packs = load_tile(row, tokens, tile);
#pragma unroll
    for (int p = 0; p < kTilePacks; ++p) {
      for_each_token<T>(packs.packs[p], tile_at<T>(tile, p), tokens, [&](float v) {
        if (!keep(v)) return;
        count += 1;
        sum = __fadd_rn(sum, weight(v, max, scale2));
      });
    }
  }
  return sum_over_block<kHeadThreads>(count, sum, buffer);
}

// The least logit kept, or a number between it and the next smaller one; −FLT_MAX where all are. `max` is the
// row's.
template <class T>
__device__ float find_cut(const T* row, int tokens, float max, float scale, DeviceTruncation truncation) {
  __shared__ float2 buffers[2][kHeadWarps];
  constexpr int kBits = 8 * int(sizeof(T));  // the lower ones of a bf16 say nothing
  const float scale2 = __fmul_rn(scale, kLog2E);
  int calls = 0;
  const auto from = [&](float cut) {
    return count_and_weigh(row, tokens, max, scale2, KeepFrom{cut}, buffers[calls++ % 2]);
  };
  // The largest cut from which on there is enough.
  const auto search = [&](const auto& enough) {
    uint32_t place = 0;
    for (int bit = 31; bit >= 32 - kBits; --bit) {
      const uint32_t higher = place | 1u << bit;
      if (const float cut = float_at(higher); cut <= max && enough(from(cut))) place = higher;
    }
    return fmaxf(float_at(place), -FLT_MAX);  // of nothing and a number the number
  };
  float cut = -FLT_MAX;
  if (truncation.top_k > 0) cut = search([&](float2 kept) { return kept.x >= float(truncation.top_k); });
  if (truncation.top_p < 1) {
    const float limit = __fmul_rn(truncation.top_p, from(cut).y);
    cut = fmaxf(cut, search([&](float2 kept) { return kept.y >= limit; }));
  }
  return cut;
}

}  // namespace temper::policy::cuda
