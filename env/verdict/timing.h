#pragma once
// Statistics of timed pairs: the speedup with its interval, when enough pairs were timed, and the time that no
// honest candidate can beat.

#include <cstdint>
#include <vector>

namespace temper::env {

double median(std::vector<double> values);          // not empty
double lower_quartile(std::vector<double> values);  // not empty

struct Interval {
  double center = 0, low = 0, high = 0;
};

// The center is the median of the geometric means w of all m pairs of values, including each value with itself.
// Its 95 % interval is [w(k), w(m+1-k)] with the largest k for which 2 · P(W < k) ≤ 0.05, where W is the
// signed-rank statistic; if n ≤ 5 allows no such k, it is the whole range. Outliers move the center little, and it
// needs only a half to two thirds as many values as the median for an interval of the same width.
// Source: Hodges and Lehmann, "Estimates of location based on rank tests" (1963), on logarithms.
Interval center_interval(const std::vector<double>& values);  // positive, not empty

// Half the range between the quartiles over the median: the relative variation of repeated times.
double spread(std::vector<double> values);  // not empty

// Whether the ratios (baseline / candidate, one a pair) are enough: never before min_pairs; then once the
// interval lies below 1, or is no wider than `tight` times the center; always at max_pairs.
bool enough_pairs(const std::vector<double>& ratios, int64_t min_pairs, int64_t max_pairs, double tight);

// The machine's peak bandwidth and arithmetic rate, all cores together.
struct Roofs {
  double bytes_per_s = 0;  // copy inside the L2 cache, bytes read + written
  double flops_per_s = 0;  // f32 fused multiply-adds
};
Roofs measure_roofs();  // some milliseconds of one core, times the cores this process may use
Roofs higher(const Roofs& a, const Roofs& b);

// The least time in microseconds in which the machine can move so many bytes and make so many operations: the longer of
// the two.
double roof_us(double bytes, double flops, const Roofs& roofs);

// Half of roof_us: honest runs on warm caches stay above it.
double floor_us(double bytes, double flops, const Roofs& roofs);

// On a GPU: what it takes to launch a kernel that does nothing, and the floor below that roof, which is never less.
inline constexpr double kEmptyKernel_us = 1.0;
double gpu_floor_us(double roof_us);

}  // namespace temper::env
