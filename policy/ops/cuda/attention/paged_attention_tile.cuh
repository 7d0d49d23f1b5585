#pragma once
// The tensor-core steps of attention over one page of 128 keys for up to 16 query rows, in the order and with
// the roundings that paged_attention.h states. Eight warps share a page: each takes 16 keys for Q·Kᵀ and an
// eighth of the columns for P·V.

#include <cuda_bf16.h>

#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {

using Number = __nv_bfloat16;

constexpr int kWarps = 8;
constexpr float kLog2e = 1.4426950408889634f;

// What follows from the width of a head.
template <int kHeadDim>
struct HeadSizes {
  static_assert(is_attention_head(kHeadDim));
  static constexpr int kSteps = kHeadDim / 16;                 // of the products along a head
  static constexpr int kColumnTiles = kHeadDim / 8 / kWarps;   // of 8 columns of the output, a warp
  static constexpr int kMatrix = int(kPageTokens) * kHeadDim;  // numbers of a page's keys, and of its values
  static constexpr uint32_t kRowBytes = kHeadDim * sizeof(Number), kMatrixBytes = kMatrix * sizeof(Number);
  static constexpr float kScale = kHeadDim == 64 ? 0.125f : 0.08838834764831845f;  // kHeadDim^-½
};

// f with the head's width as a constant.
template <class F>
void with_attention_head(int64_t head_dim, const F& f) {
  require(is_attention_head(head_dim), "attention over pages: head dimension 64 or 128");
  head_dim == 64 ? f.template operator()<64>() : f.template operator()<128>();
}

// Padded by 8 numbers a row: the rows that ldmatrix reads together lie in different banks.
constexpr int kWeightStride = kPageTokens + 8, kSumStride = kPageTokens + 4;

__device__ inline float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline float reciprocal_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The exponent's argument, each product rounded.
template <int kHeadDim>
__device__ float scaled(float score) {
  return __fmul_rn(__fmul_rn(score, HeadSizes<kHeadDim>::kScale), kLog2e);
}

// c += a · b, 16 × 8 × 16; with two registers of a, its rows 8 … 15 are zero.
__device__ inline void multiply_add(float (&c)[4], const uint32_t (&a)[2], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %6, %5, %6}, {%7, %8}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(0), "r"(b0), "r"(b1));
}

__device__ inline void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ inline void load_matrices(uint32_t (&r)[2], uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at));
}

__device__ inline void load_matrices(uint32_t (&r)[4], uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at));
}

__device__ inline void load_matrices_transposed(uint32_t (&r)[2], uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(at));
}

__device__ inline void load_matrices_transposed(uint32_t (&r)[4], uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at));
}

// Where a thread is in its warp's tiles: lane 4g + t holds columns 2t and 2t + 1 of rows g and g + 8.
struct Lane {
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
};

template <int kCount>
struct Tiles {
  float of[kCount][4];  // tiles of 8 columns; elements 0 and 1 of row g, 2 and 3 of row g + 8
};
using Scores = Tiles<2>;
template <int kHeadDim>
using Outputs = Tiles<HeadSizes<kHeadDim>::kColumnTiles>;

template <int kHeadDim, int kHalves>
__device__ Scores scores(const uint32_t (&q)[HeadSizes<kHeadDim>::kSteps][2 * kHalves], uint32_t keys,
                         const Lane& at) {
  Scores s = {};
  const int matrix = at.lane / 8, key = 16 * at.warp + matrix / 2 * 8 + at.lane % 8;
  const uint32_t row = keys + uint32_t(key) * HeadSizes<kHeadDim>::kRowBytes;
#pragma unroll
  for (int step = 0; step < HeadSizes<kHeadDim>::kSteps; ++step) {
    uint32_t k[4];
    load_matrices(k, row + uint32_t(((step * 2 + matrix % 2) ^ (key % 8)) * 16));
    multiply_add(s.of[0], q[step], k[0], k[1]);
    multiply_add(s.of[1], q[step], k[2], k[3]);
  }
  return s;
}

// Where the columns of the warp's tile `tile` begin in the row of token `key` of values.
template <int kHeadDim>
__device__ uint32_t value_chunk(const Lane& at, int key, int tile) {
  using Sizes = HeadSizes<kHeadDim>;
  return uint32_t(key) * Sizes::kRowBytes +
         uint32_t(((Sizes::kColumnTiles * at.warp + tile) ^ (key % 8)) * 16);
}

// out += p · values
template <int kHeadDim, int kHalves>
__device__ void add_values(Outputs<kHeadDim>& out, uint32_t p, uint32_t values, const Lane& at) {
  constexpr int kTiles = HeadSizes<kHeadDim>::kColumnTiles;
  const int matrix = at.lane / 8;
  // The four parts of a: rows g then g + 8 where both are in use, columns 0 … 7 then 8 … 15.
  const int p_row = at.lane % 8 + matrix % kHalves * 8, p_half = matrix / kHalves % 2;
#pragma unroll
  for (int step = 0; step < int(kPageTokens) / 16; ++step) {
    uint32_t a[2 * kHalves], v[2 * kTiles];
    load_matrices(a, p + uint32_t(p_row * kWeightStride + step * 16 + p_half * 8) * sizeof(Number));
    load_matrices_transposed(
        v, values + value_chunk<kHeadDim>(at, step * 16 + matrix % 2 * 8 + at.lane % 8, matrix / 2 % kTiles));
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) multiply_add(out.of[tile], a, v[2 * tile], v[2 * tile + 1]);
  }
}

// A lane's share of a row's sum: its columns in rising order.
__device__ inline float lane_sum(const float* p, int t) {
  float sum = 0;
#pragma unroll
  for (int tile = 0; tile < int(kPageTokens) / 8; ++tile) {
    const float2 v = *reinterpret_cast<const float2*>(p + tile * 8 + 2 * t);
    sum = __fadd_rn(__fadd_rn(sum, v.x), v.y);
  }
  return sum;
}

}  // namespace temper::policy::cuda
