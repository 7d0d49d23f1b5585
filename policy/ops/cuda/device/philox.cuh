#pragma once
// base/rng.h on the device: the same numbers for the same key and counter.

#include <cstdint>

namespace temper::policy::cuda {

// The n-th 64-bit number of Rng(key).
__device__ inline uint64_t philox_at(uint64_t key, uint64_t n) {
  uint32_t counter[4] = {uint32_t(n), uint32_t(n >> 32), 0, 0};
  uint32_t key0 = uint32_t(key), key1 = uint32_t(key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t(0xD2511F53) * counter[0], p1 = uint64_t(0xCD9E8D57) * counter[2];
    counter[0] = uint32_t(p1 >> 32) ^ counter[1] ^ key0;
    counter[1] = uint32_t(p1);
    counter[2] = uint32_t(p0 >> 32) ^ counter[3] ^ key1;
    counter[3] = uint32_t(p0);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return uint64_t(counter[0]) << 32 | counter[1];
}

// In [0, 1), 53 bits.
__device__ inline double uniform_at(uint64_t key, uint64_t n) {
  return double(philox_at(key, n) >> 11) * 0x1p-53;
}

// The i-th number that Rng(key).normal() gives.
__device__ inline double normal_at(uint64_t key, uint64_t i) {
  const double u = 1.0 - uniform_at(key, 2 * i), v = uniform_at(key, 2 * i + 1);
  return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

}  // namespace temper::policy::cuda
