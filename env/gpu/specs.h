#pragma once
// The parameters of the judge's own kernels, laid out in the same way on the host and on the GPU.
//
// Inputs are functions of a key. The runner draws them before each call and compares them after it by drawing them
// again, and the oracle draws the same inputs in its own context. Only the key is sent, and there is no copy of an
// input that a candidate could change.

#include <cstdint>

#include "env/call/draw_family.h"
#include "env/task/element_type.h"

namespace temper::env {

struct DrawSpec {
  uint64_t key = 0;
  int64_t elements = 0;
  ElementType type = ElementType::kF32;
  Distribution distribution = Distribution::kNormal;
  float scale = 1;         // kNormal
  uint32_t nonfinite = 0;  // kNormal: about one element in 64 is NaN, +Inf or -Inf
  int64_t spike = -1;      // the element that is changed by much; −1 if there is none
  DrawForm form;           // how it departs from a plain draw; its range, and its bound
};

// The tensors of a call; addresses are aligned to 16 bytes.
inline constexpr int kMaxDraws = 16;
struct Draws {
  uint32_t count = 0;
  DrawSpec spec[kMaxDraws];
  uint64_t at[kMaxDraws] = {};
};
static_assert(sizeof(Draws) <= 4096);  // a kernel's argument

// An element may be off by relative · (|expected| + scale) + tiny.
struct CompareSpec {
  int64_t elements = 0;
  ElementType type = ElementType::kF32;
  uint32_t finite_only = 0;  // 1: pass over elements where either is not finite, for the error of a baseline
  uint32_t all_finite = 0;   // 1: nothing that is not finite is inside its bound
  uint32_t narrow = 0;       // 1: what is expected comes in the same type, not in f64 or i64
  double relative = 0, scale = 0;
};

struct CompareResult {
  unsigned long long wrong = 0;  // elements out of bounds
  // The element furthest out of bounds: its error over its bound as f32 bits in the upper half, ~index in the lower
  // half; 0 if all are in bounds.
  unsigned long long worst = 0;
};

// What memory is filled with before a call, see fill.h. Outputs are filled by their type and workspaces as f32. The
// fills of guards have no zeros.
enum class FillType : uint8_t { kF32 = 0, kI32, kBF16, kF16, kGuardF32, kGuardBF16, kGuardF16 };

inline constexpr int kMaxZones = 320;  // enough for 16 tensors and 256 workspaces
struct Zones {
  uint32_t count = 0;
  uint32_t call = 0;
  uint64_t begin[kMaxZones] = {}, end[kMaxZones] = {};  // addresses
  uint32_t key[kMaxZones] = {};
  FillType front[kMaxZones] = {}, back[kMaxZones] = {};  // fill of each zone's two halves
};

}  // namespace temper::env
