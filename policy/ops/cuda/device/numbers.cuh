#pragma once
// Numbers of the dtypes that kernels take, computed with in f32 and moved 16 bytes at a time.

#include <cuda_bf16.h>

#include <cstdint>

#include "policy/model_config.h"

namespace temper::policy::cuda {

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline void from_float(float x, float& y) { y = x; }
__device__ inline void from_float(float x, __nv_bfloat16& y) { y = __float2bfloat16_rn(x); }

// N consecutive numbers as they lie in memory, at a multiple of 16 bytes: half the registers of their values,
// so that many can be under way.
template <class T, int N>
struct Pack {
  static_assert(N * sizeof(T) % 16 == 0);
  static constexpr int kWords = N * sizeof(T) / 16;
  uint4 words[kWords];
};

// In assembly: of several loads in a row, the compiler would put some behind the computing on others.
template <int N, class T>
__device__ Pack<T, N> load_pack(const T* x) {
  Pack<T, N> pack;
#pragma unroll
  for (int i = 0; i < pack.kWords; ++i) {
    uint4& w = pack.words[i];
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w)
                 : "l"(reinterpret_cast<const uint4*>(x) + i));
  }
  return pack;
}

// Zeros where not `there`.
template <int N, class T>
__device__ Pack<T, N> load_pack_if(bool there, const T* x) {
  if (there) return load_pack<N>(x);
  return {};
}

template <class T, int N>
__device__ void store_pack(const Pack<T, N>& pack, T* x) {
#pragma unroll
  for (int i = 0; i < pack.kWords; ++i) {
    const uint4& w = pack.words[i];
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(reinterpret_cast<uint4*>(x) + i), "r"(w.x),
                 "r"(w.y), "r"(w.z), "r"(w.w)
                 : "memory");
  }
}

template <int N>
__device__ void unpack(const Pack<float, N>& pack, float (&x)[N]) {
#pragma unroll
  for (int i = 0; i < pack.kWords; ++i) {
    const uint4 w = pack.words[i];
    x[4 * i] = __uint_as_float(w.x), x[4 * i + 1] = __uint_as_float(w.y);
    x[4 * i + 2] = __uint_as_float(w.z), x[4 * i + 3] = __uint_as_float(w.w);
  }
}

template <int N>
__device__ void unpack(const Pack<__nv_bfloat16, N>& pack, float (&x)[N]) {
#pragma unroll
  for (int i = 0; i < pack.kWords; ++i) {
    const uint32_t words[4] = {pack.words[i].x, pack.words[i].y, pack.words[i].z, pack.words[i].w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {  // a bf16 is the upper half of its f32
      x[8 * i + 2 * k] = __uint_as_float(words[k] << 16);
      x[8 * i + 2 * k + 1] = __uint_as_float(words[k] & 0xffff0000u);
    }
  }
}

template <int N>
__device__ void pack_numbers(const float (&x)[N], Pack<float, N>& pack) {
#pragma unroll
  for (int i = 0; i < pack.kWords; ++i)
    pack.words[i] = {__float_as_uint(x[4 * i]), __float_as_uint(x[4 * i + 1]), __float_as_uint(x[4 * i + 2]),
                     __float_as_uint(x[4 * i + 3])};
}

__device__ inline uint32_t bf16_pair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

template <int N>
__device__ void pack_numbers(const float (&x)[N], Pack<__nv_bfloat16, N>& pack) {
#pragma unroll
  for (int i = 0; i < pack.kWords; ++i)
    pack.words[i] = {bf16_pair(x[8 * i], x[8 * i + 1]), bf16_pair(x[8 * i + 2], x[8 * i + 3]),
                     bf16_pair(x[8 * i + 4], x[8 * i + 5]), bf16_pair(x[8 * i + 6], x[8 * i + 7])};
}

template <class T, int N>
__device__ void store_numbers(const float (&x)[N], T* y) {
  Pack<T, N> pack;
  pack_numbers(x, pack);
  store_pack(pack, y);
}

// Adds N numbers of each of the rows[begin, end) of x, from column `at` on, one row after the other. Some are under way at once,
// since a few tokens have very many.
template <class T, int N>
__device__ void add_rows(const T* x, int width, int at, const int32_t* rows, int begin, int end,
                         float (&sum)[N]) {
  constexpr int kAtOnce = 8;
  for (int k = begin; k < end; k += kAtOnce) {
    Pack<T, N> loaded[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      if (k + i < end) loaded[i] = load_pack<N>(x + int64_t(rows[k + i]) * width + at);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (k + i >= end) break;
      float values[N];
      unpack(loaded[i], values);
#pragma unroll
      for (int c = 0; c < N; ++c) sum[c] += values[c];
    }
  }
}

// f(T{}) for the type of `dtype`'s numbers.
template <class F>
void with_type(DType dtype, const F& f) {
  if (dtype == DType::kBF16)
    f(__nv_bfloat16{});
  else
    f(float{});
}

}  // namespace temper::policy::cuda
