#pragma once
// Outputs against the fp64 reference, element by element.

#include <cstdint>

#include "env/call/mismatch_report.h"

namespace temper {

// An element may be off by relative · (|expected| + scale): `scale` is the output's typical size, so that
// sums that cancel are not asked for more digits than their terms had.
// `movement`, where there is one, is what the element moves as its inputs are rounded once more
// (sensitivity.h): it may be off by `times` that, too. What is not finite adds nothing.
struct Bound {
  double relative = 0, scale = 0;
  const double* movement = nullptr;
  double times = 0;
};

struct Comparison {
  int64_t wrong = 0;                          // elements out of bounds
  int64_t worst = 0;                          // flat index of the element furthest out, where any is
  double got = 0, expected = 0, allowed = 0;  // of that element
};

// A NaN or an infinity is right only where the reference, rounded to f32, has the same.
Comparison compare_f32(const float* got, const double* expected, int64_t n, Bound bound);
Comparison compare_i32(const int32_t* got, const int64_t* expected, int64_t n);

// The same elements once more, for what there is to say of those that are wrong. What still holds what it was
// `filled` with no candidate has written; null: with poison. `first`: the index of the first one.
OutputReport report_f32(const float* got, const double* expected, int64_t n, Bound bound, int64_t first = 0,
                        const uint32_t* filled = nullptr);
OutputReport report_i32(const int32_t* got, const int64_t* expected, int64_t n, int64_t first = 0,
                        const uint32_t* filled = nullptr);

// max |got - expected| / (|expected| + scale) over the elements where both are finite.
double relative_error(const float* got, const double* expected, int64_t n, double scale);

}  // namespace temper
