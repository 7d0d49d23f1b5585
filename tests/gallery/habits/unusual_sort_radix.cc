// task: sort_all
// expect: PASS
// Control: radix sort of the bits, signs unfolded by a union.

#include <algorithm>
#include <cstdint>
#include <vector>

union Bits {
  float value;
  uint32_t word;
};

extern "C" void kernel(const float* x, float* y, int n) {
  std::vector<uint32_t> keys(static_cast<size_t>(n)), other(keys.size());
  for (int i = 0; i < n; ++i) {
    Bits bits;
    bits.value = x[i];
    keys[size_t(i)] = bits.word ^ (bits.word >> 31 ? 0xFFFFFFFFu : 0x80000000u);
  }
  for (int shift = 0; shift < 32; shift += 8) {
    size_t places[257] = {};
    for (const uint32_t key : keys) ++places[((key >> shift) & 255) + 1];
    for (int digit = 0; digit < 256; ++digit) places[digit + 1] += places[digit];
    for (const uint32_t key : keys) other[places[(key >> shift) & 255]++] = key;
    keys.swap(other);
  }
  for (int i = 0; i < n; ++i) {
    Bits bits;
    bits.word = keys[size_t(i)] ^ (keys[size_t(i)] >> 31 ? 0x80000000u : 0xFFFFFFFFu);
    y[i] = bits.value;
  }
}
