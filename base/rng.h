#pragma once
// Counter-based random numbers: the value depends on the key and the counter alone, never on call order,
// batch neighbours or restarts. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC
// 2011), Philox4x32-10.

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace temper {

inline std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  constexpr uint64_t kMul0 = 0xD2511F53, kMul1 = 0xCD9E8D57;
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = kMul0 * counter[0], p1 = kMul1 * counter[2];
    counter = {uint32_t(p1 >> 32) ^ counter[1] ^ key[0], uint32_t(p1),
               uint32_t(p0 >> 32) ^ counter[3] ^ key[1], uint32_t(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// splitmix64 finaliser; folds the parts of a key into 64 bits.
inline uint64_t mix_key(std::initializer_list<uint64_t> parts) {
  uint64_t h = 0x9E3779B97F4A7C15;
  for (uint64_t part : parts) {
    h += part + 0x9E3779B97F4A7C15;
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EB;
    h ^= h >> 31;
  }
  return h;
}

// A stream of numbers under one key, e.g. {run seed, step, task, sample, turn}; `at` gives the n-th directly.
class Rng {
 public:
  explicit Rng(uint64_t key) : key_{uint32_t(key), uint32_t(key >> 32)} {}
  explicit Rng(std::initializer_list<uint64_t> parts) : Rng(mix_key(parts)) {}

  // The n-th 64-bit number of the stream.
  uint64_t at(uint64_t n) const {
    const auto r = philox4x32({uint32_t(n), uint32_t(n >> 32), 0, 0}, key_);
    return uint64_t(r[0]) << 32 | r[1];
  }
  // The n-th uniform number in [0, 1), 53 bits.
  double uniform_at(uint64_t n) const { return double(at(n) >> 11) * 0x1p-53; }

  uint64_t next() { return at(n_++); }
  double uniform() { return uniform_at(n_++); }
  // Uniform integer in [0, bound); bound > 0.
  uint64_t below(uint64_t bound) { return uint64_t((unsigned __int128)next() * bound >> 64); }
  // Standard normal, Box-Muller.
  double normal() {
    const double u = 1.0 - uniform(), v = uniform();
    return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
  }

 private:
  std::array<uint32_t, 2> key_;
  uint64_t n_ = 0;
};

}  // namespace temper
