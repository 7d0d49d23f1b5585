#pragma once
// What outputs, and the guards around buffers, hold before a call.
//
// If memory always held the same values, candidates that forget to initialise, leave out a tail or read past an
// end could pass by luck. Over the calls of one candidate each word therefore holds NaN, zero and large numbers
// of either sign.

#include <cstdint>

namespace temper::env {

// Identifies the fill of one call. The key is secret and new for each verdict, so that a candidate cannot
// recognise an unwritten element by its value.
struct Fill {
  uint64_t key = 0;
  uint32_t call = 0;
};

enum class FillKind : uint8_t {
  kFloats,    // NaN, zero, ±2^17 … 2^80
  kIntegers,  // -1, zero, large, and below 8
  kGuard,     // NaN or ±2^17 … 2^80: as a number, nothing that a sum would forgive
};

// Writes words [first, first + count) of that call's memory to `out`.
void fill_words(Fill fill, FillKind kind, int64_t first, int64_t count, uint32_t* out);

// Whether the words still hold what fill_words writes.
bool filled_words(Fill fill, FillKind kind, int64_t first, int64_t count, const uint32_t* words);

}  // namespace temper::env
