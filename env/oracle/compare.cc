#include "env/oracle/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

// Made for several instruction sets, of which the loader chooses. It does so before thread sanitizer can follow it.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define TEMPER_WIDE_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TEMPER_WIDE_VECTORS
#endif

namespace temper::env {
namespace {

constexpr double kTiny = 0x1p-126;  // below it f32 has few digits or none
constexpr double kInf = std::numeric_limits<double>::infinity();

bool same_special(float got, float expected) {
  return std::isnan(expected) ? std::isnan(got) : got == expected;
}

double allowed_at(double expected, Bound bound) {
  return bound.relative * (std::abs(expected) + bound.scale) + kTiny;
}

double allowed_at(double expected, Bound bound, int64_t i) {
  const double moved = bound.movement == nullptr ? 0 : bound.times * bound.movement[i];
  return allowed_at(expected, bound) + (std::isfinite(moved) ? moved : 0);
}

// How far outside its bound an element is: ≤ 1 is inside, and NaN is not.
double excess(float got, double expected, Bound bound, int64_t i) {
  if (!std::isfinite(float(expected))) return same_special(got, float(expected)) ? 0 : kInf;
  const double ratio = std::abs(double(got) - expected) / allowed_at(expected, bound, i);
  return std::isnan(ratio) ? kInf : ratio;
}

// The common case in a loop that vectorises: every element finite and inside.
TEMPER_WIDE_VECTORS bool all_inside(const float* got, const double* expected, int64_t n, Bound bound) {
  int64_t inside = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double allowed = allowed_at(expected[i], bound);
    inside += (std::abs(got[i] - expected[i]) <= allowed) & (allowed < kInf);
  }
  return inside == n;
}

constexpr uint32_t kPoison = 0xFFFFFFFF;  // four kPoisonByte

// Whether an element holds what lay there before. Zero is what many a candidate writes by mistake: it is not
// told that it has written nothing.
bool left_as(uint32_t got, const uint32_t* filled, int64_t i) {
  const uint32_t before = filled == nullptr ? kPoison : filled[i];
  return got == before && before != 0;
}

}  // namespace

Comparison compare_f32(const float* got, const double* expected, int64_t n, Bound bound) {
  Comparison result;
  if (all_inside(got, expected, n, bound)) return result;
  double furthest = 1;
  for (int64_t i = 0; i < n; ++i) {
    const double ratio = excess(got[i], expected[i], bound, i);
    if (ratio <= 1) continue;
    ++result.wrong;
    if (ratio <= furthest) continue;
    furthest = ratio;
    result.worst = i;
    result.got = got[i];
    result.expected = expected[i];
    result.allowed = allowed_at(expected[i], bound, i);
  }
  return result;
}

Comparison compare_i32(const int32_t* got, const int64_t* expected, int64_t n) {
  Comparison result;
  for (int64_t i = 0; i < n; ++i) {
    if (got[i] == expected[i]) continue;
    if (result.wrong++ > 0) continue;
    result.worst = i;
    result.got = got[i];
    result.expected = double(expected[i]);
  }
  return result;
}

OutputReport report_f32(const float* got, const double* expected, int64_t n, Bound bound, int64_t first,
                        const uint32_t* filled) {
  OutputReporter reporter;
  for (int64_t i = 0; i < n; ++i) {
    const double ratio = excess(got[i], expected[i], bound, i);
    const bool unwritten = left_as(std::bit_cast<uint32_t>(got[i]), filled, i);
    if (ratio > 1) reporter.add({first + i, got[i], expected[i], unwritten}, ratio);
  }
  reporter.report.seen = n;
  return reporter.report;
}

OutputReport report_i32(const int32_t* got, const int64_t* expected, int64_t n, int64_t first,
                        const uint32_t* filled) {
  OutputReporter reporter;
  for (int64_t i = 0; i < n; ++i) {
    if (got[i] == expected[i]) continue;
    const double right = double(expected[i]), off = std::abs(double(got[i]) - right);
    const bool unwritten = left_as(uint32_t(got[i]), filled, i);
    reporter.add({first + i, double(got[i]), right, unwritten}, off);
  }
  reporter.report.seen = n;
  return reporter.report;
}

// Sizes are ordered as their bits are, with NaN beyond infinity; and bits are compared many at once.
TEMPER_WIDE_VECTORS double largest_size(const double* expected, int64_t n) {
  constexpr uint64_t kAllButSign = ~(uint64_t(1) << 63);
  uint64_t largest = 0;
  for (int64_t i = 0; i < n; ++i)
    largest = std::max(largest, std::bit_cast<uint64_t>(expected[i]) & kAllButSign);
  return std::bit_cast<double>(largest);
}

double relative_error(const float* got, const double* expected, int64_t n, double scale) {
  double error = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double ratio = std::abs(got[i] - expected[i]) / (std::abs(expected[i]) + scale + kTiny);
    if (ratio > error && std::isfinite(ratio)) error = ratio;
  }
  return error;
}

}  // namespace temper::env
