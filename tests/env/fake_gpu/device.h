#pragma once
// Enough of CUDA's device language for a C++ compiler to run kernels that share nothing between threads: one
// thread after another.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#undef __global__
#undef __device__
#undef __grid_constant__
#define __global__
#define __device__ inline
#define __grid_constant__

namespace fake {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};
inline Index grid_dim, block_dim, block_index, thread_index;

template <auto kKernel>
struct Kernel;
template <class... Parameters, void (*kKernel)(Parameters...)>
struct Kernel<kKernel> {
  // Where each parameter begins when all lie in one buffer.
  static constexpr std::array<size_t, sizeof...(Parameters)> kOffsets = [] {
    std::array<size_t, sizeof...(Parameters)> offsets{};
    size_t next = 0, end = 0;
    const auto place = [&](size_t bytes, size_t align) {
      offsets[next] = (end + align - 1) / align * align;
      end = offsets[next++] + bytes;
    };
    (place(sizeof(Parameters), alignof(Parameters)), ...);
    return offsets;
  }();

  // Takes the address of each parameter.
  static void call(void** addresses) {
    size_t next = 0;
    const auto take = [&]<class T>(T& value) {
      std::memcpy(static_cast<void*>(&value), addresses[next++], sizeof(T));
    };
    std::tuple<std::remove_const_t<Parameters>...> values;
    std::apply([&](auto&... each) { (take(each), ...); }, values);
    for (block_index.y = 0; block_index.y < grid_dim.y; ++block_index.y)
      for (block_index.x = 0; block_index.x < grid_dim.x; ++block_index.x)
        for (thread_index.y = 0; thread_index.y < block_dim.y; ++thread_index.y)
          for (thread_index.x = 0; thread_index.x < block_dim.x; ++thread_index.x)
            std::apply(kKernel, values);
  }
};

}  // namespace fake

#define gridDim fake::grid_dim
#define blockDim fake::block_dim
#define blockIdx fake::block_index
#define threadIdx fake::thread_index

inline uint32_t __float_as_uint(float value) { return __builtin_bit_cast(uint32_t, value); }
inline float __uint_as_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline float __int_as_float(int32_t bits) { return __builtin_bit_cast(float, bits); }
inline float __logf(float x) { return std::log(x); }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline void __sincosf(float angle, float* sine, float* cosine) {
  *sine = std::sin(angle);
  *cosine = std::cos(angle);
}
inline unsigned long long atomicAdd(unsigned long long* to, unsigned long long value) {
  return std::exchange(*to, *to + value);
}
inline unsigned long long atomicMax(unsigned long long* to, unsigned long long value) {
  return std::exchange(*to, value > *to ? value : *to);
}
constexpr int warpSize = 1;
inline unsigned long long __shfl_xor_sync(unsigned, unsigned long long value, int) { return value; }
inline int64_t clock64() {  // no time is lost in waiting
  static int64_t now = 0;
  return now += 1'000'000;
}
inline void __nanosleep(unsigned) {}
inline float normcdff(float x) { return 0.5f * std::erfc(-x * float(M_SQRT1_2)); }
using std::isfinite;
using std::isnan;
