#pragma once
// What a tensor's elements are and how an input is drawn, in one form for the host and for the judge's kernels.

#include <cstdint>

namespace temper::env {

enum class ElementType : uint32_t { kF32 = 0, kI32, kBF16, kF16 };

// How the oracle draws an input.
enum class Distribution : uint32_t {
  kNormal = 0,  // N(0, 1) times the case's magnitude
  kUniform,     // U(low, high)
  kIndex,       // integers in [0, high dimension)
  kDistinct,    // as kUniform, no two elements equal
};

}  // namespace temper::env
