#pragma once
// What timed pairs say: the speedup with its interval, when to stop, and the time below which nothing honest
// runs.

#include <cstdint>
#include <vector>

namespace temper {

double median(std::vector<double> values);  // not empty

struct Interval {
  double center = 0, low = 0, high = 0;
};

// The median of the geometric means w of all pairs of values, each with itself, too; and its 95 % interval
// [w(k), w(m+1-k)] with the largest k for which 2 · P(W < k) ≤ 0.05, W the signed-rank statistic; the whole
// range where n ≤ 5 allows no such k. As little moved by outliers as need be, and from a half to two thirds
// as many values as the median wants for the same interval.
// Source: Hodges and Lehmann, "Estimates of location based on rank tests" (1963), on logarithms.
Interval center_interval(const std::vector<double>& values);  // positive, not empty

// Half the range between the quartiles, relative to the median: what a repeated time varies by.
double spread(std::vector<double> values);  // not empty

// Whether the ratios (baseline / candidate, one a pair) are enough: never before min_pairs; then once the
// interval lies below 1, or is no wider than `tight` times the center; always at max_pairs.
bool enough_pairs(const std::vector<double>& ratios, int64_t min_pairs, int64_t max_pairs, double tight);

// What this machine can do at most, all cores together.
struct Roofs {
  double bytes_per_s = 0;  // copy inside the L2 cache, bytes read + written
  double flops_per_s = 0;  // f32 fused multiply-adds
};
Roofs measure_roofs();  // some milliseconds of one core, times the cores this process may use
Roofs higher(const Roofs& a, const Roofs& b);

// Half the time that the roofs demand: honest runs on warm caches stay above it.
double floor_us(double bytes, double flops, const Roofs& roofs);

}  // namespace temper
