#pragma once
// One row of logits: its maximum, log Σ exp and entropy in one reading. Scoring and sampling both add up
// here, operation by operation, so that they give the same bits.

#include <cfloat>

#include "policy/ops/cuda/device/numbers.cuh"
#include "policy/ops/cuda/device/reduce.cuh"

namespace temper::policy::cuda {

constexpr int kHeadThreads = 512, kHeadWarps = kHeadThreads / 32;
constexpr int kTilePacks = 4;
constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

template <class T>
constexpr int kTileNumbers = 16 / sizeof(T);  // of a pack
template <class T>
constexpr int kTile = kTilePacks * 32 * kTileNumbers<T>;  // consecutive logits that a warp takes at a time

__device__ inline float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// A lane's logits of a tile: packs `lane`, 32 + `lane`, …, of which those that lie within the row count.
// A row's first `tokens` logits have a token. The last pack may hold more; those count for nothing.
template <class T>
struct TilePacks {
  Pack<T, kTileNumbers<T>> packs[kTilePacks];
};

template <class T>
__device__ int tile_at(int tile, int p) {
  return tile * kTile<T> + (p * 32 + int(threadIdx.x) % 32) * kTileNumbers<T>;
}

template <class T>
__device__ TilePacks<T> load_tile(const T* row, int tokens, int tile) {
  TilePacks<T> packs;
#pragma unroll
  for (int p = 0; p < kTilePacks; ++p) {
    const int at = tile_at<T>(tile, p);
    packs.packs[p] = load_pack_if<kTileNumbers<T>>(at < tokens, row + at);
  }
  return packs;
}

// use(logit) for those of a pack that have a token. Nearly all packs are full, and those pay no test a logit.
template <class T, class F>
__device__ void for_each_token(const Pack<T, kTileNumbers<T>>& pack, int at, int tokens, const F& use) {
  float x[kTileNumbers<T>];
  unpack(pack, x);
  if (at + kTileNumbers<T> <= tokens) {
#pragma unroll
    for (float v : x) use(v);
  } else {
#pragma unroll
    for (int i = 0; i < kTileNumbers<T>; ++i)
      if (at + i < tokens) use(x[i]);
  }
}

template <class T>
__device__ float tile_max(const TilePacks<T>& tile_packs, int tokens, int tile) {
  float max = -FLT_MAX;
#pragma unroll
  for (int p = 0; p < kTilePacks; ++p) {
    for_each_token<T>(tile_packs.packs[p], tile_at<T>(tile, p), tokens,
                      [&](float v) { max = fmaxf(max, v); });
  }
  return max_over_warp(max);
}

// Σ 2^z and Σ 2^z · z with z = (x − max) · scale2: what was added up below one maximum moves to a greater
// one.
struct ExpSums {
  float max = -FLT_MAX, sum = 0, weighted = 0;

  // Far enough below for 2^z to be 0, and finite.
  __device__ static float shift(float from, float to, float scale2) {
    return fmaxf(__fmul_rn(__fsub_rn(from, to), scale2), -1e30f);
  }
  __device__ void raise(float new_max, float scale2) {
    const float z = shift(max, new_max, scale2), factor = exp2_fast(z);
    weighted = __fmul_rn(factor, __fmaf_rn(z, sum, weighted));
    sum = __fmul_rn(factor, sum);
    max = new_max;
  }
  __device__ void add(float x, float scale2) {
    const float z = __fmul_rn(__fsub_rn(x, max), scale2), e = exp2_fast(z);
    sum = __fadd_rn(sum, e);
    weighted = __fmaf_rn(e, z, weighted);
  }
};

// Which logits of a row count: all of them, or those that are not below a cut.
struct KeepAll {
  __device__ bool operator()(float) const { return true; }
};
struct KeepFrom {
  float cut;
  __device__ bool operator()(float x) const { return x >= cut; }
};

struct RowStats {
  float max;      // of the logits
  float log_sum;  // log Σ exp((x − max) · scale)
  float entropy;

  // Of logit x, in nats.
  __device__ float log_prob(float x, float scale) const {
    return __fmaf_rn(__fsub_rn(x, max), scale, -log_sum);
  }
};

// Of a warp's sums, in every thread of the block.
__device__ inline RowStats combine(ExpSums sums, float scale2) {
  __shared__ float max_of_warp[kHeadWarps];
  __shared__ float2 of_warp[kHeadWarps];
  if (threadIdx.x % 32 == 0) max_of_warp[threadIdx.x / 32] = sums.max;
  __syncthreads();
  float max = max_of_warp[0];
#pragma unroll
  for (int i = 1; i < kHeadWarps; ++i) max = fmaxf(max, max_of_warp[i]);
  sums.raise(max, scale2);
  const float2 total = sum_over_block<kHeadThreads>(sums.sum, sums.weighted, of_warp);
  const float log_sum = logf(total.x);
  return {max, log_sum, __fmaf_rn(-kLn2, __fdiv_rn(total.y, total.x), log_sum)};
}

// By a block of kHeadThreads, of the logits that `keep` keeps, the largest among them. on_tile(tile, its
// maximum, the maximum so far, this lane's Σ 2^z below that); maxima are of all logits.
template <class T, class K, class F>
__device__ RowStats row_stats(const T* row, int tokens, float scale, const K& keep, const F& on_tile) {
  const float scale2 = __fmul_rn(scale, kLog2E);
  ExpSums sums;
  const int warp = int(threadIdx.x) / 32, tiles = (tokens + kTile<T> - 1) / kTile<T>;
  TilePacks<T> next = load_tile(row, tokens, warp);
  for (int tile = warp; tile < tiles; tile += kHeadWarps) {
    const TilePacks<T> packs = next;
    next = load_tile(row, tokens, tile + kHeadWarps);
    const float max = tile_max(packs, tokens, tile);
    sums.raise(fmaxf(sums.max, max), scale2);
    ExpSums of_tile = {sums.max, 0, 0};
#pragma unroll
    for (int p = 0; p < kTilePacks; ++p) {
      const auto add = [&](float v) {
        if (keep(v)) of_tile.add(v, scale2);
      };
      for_each_token<T>(packs.packs[p], tile_at<T>(tile, p), tokens, add);
    }
    sums.sum = __fadd_rn(sums.sum, of_tile.sum);
    sums.weighted = __fadd_rn(sums.weighted, of_tile.weighted);
    on_tile(tile, max, sums.max, of_tile.sum);
  }
  return combine(sums, scale2);
}

}  // namespace temper::policy::cuda
