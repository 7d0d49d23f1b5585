#pragma once
// What timed pairs say: the speedup with its interval, when to stop, and the time below which nothing honest
// runs.

#include <cstdint>
#include <vector>

namespace temper {

double median(std::vector<double> values);  // not empty

struct Interval {
  double median = 0, low = 0, high = 0;
};

// Median and its distribution-free 95 % interval by order statistics: [x(k), x(n+1-k)] with the largest k for
// which 2 · P(Binomial(n, 1/2) < k) ≤ 0.05; the whole range where n ≤ 5 allows no such k.
Interval median_interval(std::vector<double> values);  // not empty

// Half the range between the quartiles, relative to the median: what a repeated time varies by.
double spread(std::vector<double> values);  // not empty

// Whether the ratios (baseline / candidate, one a pair) are enough: never before min_pairs; then once the
// interval lies below 1, or is narrower than 4 % of the median; always at max_pairs.
bool enough_pairs(const std::vector<double>& ratios, int64_t min_pairs, int64_t max_pairs);

// What this machine can do at most, all cores together.
struct Roofs {
  double bytes_per_s = 0;  // copy inside the L2 cache, bytes read + written
  double flops_per_s = 0;  // f32 fused multiply-adds
};
Roofs measure_roofs();  // some milliseconds of one core, times the cores this process may use

// Half the time that the roofs demand: honest runs on warm caches stay above it.
double floor_us(double bytes, double flops, const Roofs& roofs);

}  // namespace temper
