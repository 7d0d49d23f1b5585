#include "env/call/fill.h"

#include "base/rng.h"

namespace temper::env {
namespace {

// Source: Appleby, MurmurHash3's finaliser (2011). In 32 bits, so that loops over it vectorise.
inline uint32_t mixed_word(uint32_t word) {
  word = (word ^ (word >> 16)) * 0x85EBCA6B;
  word = (word ^ (word >> 13)) * 0xC2B2AE35;
  return word ^ (word >> 16);
}

// One of four by the call and the word: any four calls in a row show all of them.
template <FillKind kind>
inline uint32_t filled_word(uint32_t key, uint32_t call, uint32_t place) {
  constexpr uint32_t kNan = 0x7FC00000, kSign = 0x80000000, kLarge = 0x48000000, kSpread = 0x1F800000;
  const uint32_t random = mixed_word(place * 0x9E3779B1 + key), which = (call + random) & 3;
  const uint32_t bits = random >> 2, large = kLarge + bits % kSpread;
  if (kind == FillKind::kIntegers) {
    const uint32_t lower = which == 0 ? ~0u : 0u, upper = which == 2 ? bits | 0x40000000 : bits & 7;
    return which < 2 ? lower : upper;
  }
  const uint32_t lower = which == 0 ? kNan | (bits & 0x003FFFFF) : kind == FillKind::kGuard ? kNan : 0u;
  return which < 2 ? lower : which == 2 ? large : large | kSign;
}

template <FillKind kind>
void fill(uint32_t key, uint32_t call, uint32_t first, int64_t count, uint32_t* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = filled_word<kind>(key, call, first + uint32_t(i));
}

template <FillKind kind>
bool filled(uint32_t key, uint32_t call, uint32_t first, int64_t count, const uint32_t* words) {
  uint32_t changed = 0;
  for (int64_t i = 0; i < count; ++i) changed |= words[i] ^ filled_word<kind>(key, call, first + uint32_t(i));
  return changed == 0;
}

}  // namespace

void fill_words(Fill of, FillKind kind, int64_t first, int64_t count, uint32_t* out) {
  const auto key = uint32_t(mix_key({of.key}));
  if (kind == FillKind::kFloats) return fill<FillKind::kFloats>(key, of.call, uint32_t(first), count, out);
  if (kind == FillKind::kIntegers)
    return fill<FillKind::kIntegers>(key, of.call, uint32_t(first), count, out);
  fill<FillKind::kGuard>(key, of.call, uint32_t(first), count, out);
}

bool filled_words(Fill of, FillKind kind, int64_t first, int64_t count, const uint32_t* words) {
  const auto key = uint32_t(mix_key({of.key}));
  if (kind == FillKind::kFloats)
    return filled<FillKind::kFloats>(key, of.call, uint32_t(first), count, words);
  if (kind == FillKind::kIntegers)
    return filled<FillKind::kIntegers>(key, of.call, uint32_t(first), count, words);
  return filled<FillKind::kGuard>(key, of.call, uint32_t(first), count, words);
}

}  // namespace temper::env
