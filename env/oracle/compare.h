#pragma once
// Outputs against the fp64 reference, element by element.

#include <cstdint>

#include "env/call/mismatch_report.h"

namespace temper::env {

// An element may differ from the expected value by relative · (|expected| + scale). `scale` is the typical size of
// the output, so that a sum whose terms cancel need not have more correct digits than its terms had. If there is a
// `movement`, how far the element moves when its inputs are rounded once more (sensitivity.h), the element may
// differ by `times` that in addition. Movements that are not finite add nothing.
struct Bound {
  double relative = 0, scale = 0;
  const double* movement = nullptr;
  double times = 0;
};

struct Comparison {
  int64_t wrong = 0;                          // elements out of bounds
  int64_t worst = 0;                          // flat index of the element furthest out, where any is
  double got = 0, expected = 0, allowed = 0;  // at the worst element
};

// A NaN or an infinity is right only where the reference, rounded to f32, has the same.
Comparison compare_f32(const float* got, const double* expected, int64_t n, Bound bound);
Comparison compare_i32(const int32_t* got, const int64_t* expected, int64_t n);

// Compares the elements again and describes those that are wrong. An element that still holds its value of
// `filled`, or the poison value if that is null, was not written. `first` is the index of the first element.
OutputReport report_f32(const float* got, const double* expected, int64_t n, Bound bound, int64_t first = 0,
                        const uint32_t* filled = nullptr);
OutputReport report_i32(const int32_t* got, const int64_t* expected, int64_t n, int64_t first = 0,
                        const uint32_t* filled = nullptr);

// max |expected|; NaN where an element is.
double largest_size(const double* expected, int64_t n);

// max |got - expected| / (|expected| + scale) over the elements where both are finite.
double relative_error(const float* got, const double* expected, int64_t n, double scale);

}  // namespace temper::env
