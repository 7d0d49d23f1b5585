#pragma once
// What outputs, workspaces and the guards around all buffers hold in a GPU's memory before a call. The values are
// like those of env/call/fill.h, in groups of 16 bytes. Each group is a function of a key, the number of the call and
// its place, and can be computed on the host and on the GPU.

#include "env/gpu/specs.h"

namespace temper::env {

struct FilledGroup {
  uint32_t word[4];
};

// Source: Appleby, MurmurHash3's finaliser (2011).
TEMPER_ON_BOTH uint32_t mixed_word(uint32_t word) {
  word = (word ^ (word >> 16)) * 0x85EBCA6B;
  word = (word ^ (word >> 13)) * 0xC2B2AE35;
  return word ^ (word >> 16);
}

// One of four, out of 30 random bits.
TEMPER_ON_BOTH uint32_t filled_float(uint32_t which, uint32_t bits, bool guard) {
  const uint32_t nan = 0x7FC00000 | (bits & 0x003FFFFF), large = 0x48000000 + (bits & 0x0FFFFFFF);
  if (which >= 2) return large | which << 31;
  return which == 0 || guard ? nan : 0;
}

TEMPER_ON_BOTH uint32_t filled_integer(uint32_t which, uint32_t bits) {
  if (which >= 2) return which == 2 ? bits | 0x40000000 : bits & 7;
  return which == 0 ? ~0u : 0;
}

// Out of 12 random bits.
TEMPER_ON_BOTH uint32_t filled_short(uint32_t which, uint32_t bits, bool half, bool guard) {
  const uint32_t nan = (half ? 0x7E00 : 0x7FC0) | (bits & 0x3F), large = (half ? 0x6400 : 0x4800) + bits;
  if (which >= 2) return large | (which & 1) << 15;
  return which == 0 || guard ? nan : 0;
}

TEMPER_ON_BOTH uint32_t filled_word(FillType type, uint32_t call, uint32_t random) {
  const bool guard = type >= FillType::kGuardF32;
  const uint32_t which = (call + (random >> 30)) & 3;
  if (type == FillType::kI32) return filled_integer(which, random & 0x3FFFFFFF);
  if (type == FillType::kF32 || type == FillType::kGuardF32)
    return filled_float(which, random & 0x3FFFFFFF, guard);
  const bool half = type == FillType::kF16 || type == FillType::kGuardF16;
  const uint32_t other = (call + (random >> 28)) & 3;
  return filled_short(which, random & 0xFFF, half, guard) |
         filled_short(other, random >> 12 & 0xFFF, half, guard) << 16;
}

// Any four calls in a row show all of the four in each element.
TEMPER_ON_BOTH FilledGroup filled_group(FillType type, uint32_t key, uint32_t call, uint64_t group) {
  const uint32_t hash = mixed_word(uint32_t(group) * 0x9E3779B1 + uint32_t(group >> 32) + key);
  return {{filled_word(type, call, hash), filled_word(type, call, hash * 0x2C9277B5),
           filled_word(type, call, hash * 0xAC564B05), filled_word(type, call, hash * 0x8664F205)}};
}

}  // namespace temper::env
