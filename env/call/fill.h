#pragma once
// What memory holds before a call where nothing was written yet: outputs, and guards around buffers.
//
// Memory that always holds the same is kind to who forgets to initialise, leaves out a tail or reads past an
// end. Over the calls of one candidate each word holds NaN, zero and large numbers of either sign.

#include <cstdint>

namespace temper {

// Of one call. The key is secret and a verdict's own, so that nobody knows by its fill whether an element was
// written.
struct Fill {
  uint64_t key = 0;
  uint32_t call = 0;
};

enum class FillKind : uint8_t {
  kFloats,    // NaN, zero, ±2^17 … 2^80
  kIntegers,  // -1, zero, large, and below 8
  kGuard,     // NaN or ±2^17 … 2^80: as a number, nothing that a sum would forgive
};

// Words [first, first + count) of the memory of that call.
void fill_words(Fill fill, FillKind kind, int64_t first, int64_t count, uint32_t* out);

// Whether they hold what fill_words had written.
bool filled_words(Fill fill, FillKind kind, int64_t first, int64_t count, const uint32_t* words);

}  // namespace temper
