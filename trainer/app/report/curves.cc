#include "trainer/app/report/curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"

namespace temper::trainer {
namespace {

using Bins = std::vector<std::optional<double>>;

int64_t bin_width(int64_t last_step, int64_t points) {
  return std::max<int64_t>(1, (last_step + points - 1) / points);
}

// Step 0 (an evaluation before the first step) has a bin of its own.
size_t bin_of(int64_t step, int64_t width) { return size_t((step + width - 1) / width); }

// The middle of the steps that fall into a bin.
double step_of(size_t bin, int64_t width) {
  return bin == 0 ? 0 : double(int64_t(bin - 1) * width + 1 + int64_t(bin) * width) / 2;
}

bool is_drawn(int64_t step, double value, int64_t last_step) {
  return step >= 0 && step <= last_step && std::isfinite(value);
}

// The least and the largest value of each bin.
std::vector<std::pair<double, double>> extremes_of(const Series& series, int64_t last_step, int64_t width) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::vector<std::pair<double, double>> bins(bin_of(last_step, width) + 1, {inf, -inf});
  for (const auto& [step, value] : series) {
    if (!is_drawn(step, value, last_step)) continue;
    auto& [low, high] = bins[bin_of(step, width)];
    low = std::min(low, value), high = std::max(high, value);
  }
  return bins;
}

Bins binned(const Series& series, int64_t last_step, int64_t width) {
  std::vector<double> sums(bin_of(last_step, width) + 1), counts(sums.size());
  for (const auto& [step, value] : series) {
    if (!is_drawn(step, value, last_step)) continue;
    sums[bin_of(step, width)] += value;
    ++counts[bin_of(step, width)];
  }
  Bins bins(sums.size());
  for (size_t i = 0; i < bins.size(); ++i)
    if (counts[i] > 0) bins[i] = sums[i] / counts[i];
  return bins;
}

// A centred moving mean over the bins that have a value; at the ends only what is there.
Bins smoothed(const Bins& bins, double share) {
  std::vector<size_t> there;
  for (size_t i = 0; i < bins.size(); ++i)
    if (bins[i]) there.push_back(i);
  const auto reach = size_t(share * double(there.size()) / 2);
  Bins result(bins.size());
  for (size_t i = 0; i < there.size(); ++i) {
    const size_t begin = i - std::min(i, reach), end = std::min(there.size(), i + reach + 1);
    double sum = 0;
    for (size_t j = begin; j < end; ++j) sum += *bins[there[j]];
    result[there[i]] = sum / double(end - begin);
  }
  return result;
}

void add_point(Curve& curve, double step, const MeanSpread& value, size_t runs) {
  curve.step.push_back(step);
  curve.mean.push_back(value.mean);
  if (runs == 1) return;
  curve.low.push_back(value.mean - value.spread);
  curve.high.push_back(value.mean + value.spread);
}

std::vector<double> present(const std::vector<Bins>& runs, size_t bin) {
  std::vector<double> values;
  for (const Bins& bins : runs)
    if (bins[bin]) values.push_back(*bins[bin]);
  return values;
}

// One behind the last bin of a line. Runs that ended at about the same step end it together: the few steps
// that some of them have more would make it jump.
size_t end_of_line(const std::vector<Bins>& runs) {
  size_t shortest = runs[0].size(), longest = 0;
  for (const Bins& bins : runs) {
    size_t end = bins.size();
    while (end > 0 && !bins[end - 1]) --end;
    shortest = std::min(shortest, end);
    longest = std::max(longest, end);
  }
  return 5 * shortest >= 4 * longest ? shortest : longest;
}

}  // namespace

MeanSpread mean_spread(const std::vector<double>& values) {
  MeanSpread result{.count = int64_t(values.size())};
  if (values.empty()) return result;
  for (const double v : values) result.mean += v / double(values.size());
  double squares = 0;
  for (const double v : values) squares += (v - result.mean) * (v - result.mean);
  if (values.size() > 1) result.spread = std::sqrt(squares / double(values.size() - 1));
  return result;
}

Curve make_curve(const std::vector<const Series*>& runs, int64_t last_step, const CurveOptions& options) {
  const int64_t width = bin_width(last_step, options.points);
  std::vector<Bins> smooth;
  for (const Series* run : runs) smooth.push_back(smoothed(binned(*run, last_step, width), options.smooth));
  const auto extremes = extremes_of(*runs[0], last_step, width);
  const size_t end = end_of_line(smooth);
  Curve curve;
  for (size_t bin = 0; bin < end; ++bin) {
    const std::vector<double> values = present(smooth, bin);
    if (values.empty() || 2 * values.size() < runs.size()) continue;
    add_point(curve, step_of(bin, width), mean_spread(values), runs.size());
    if (runs.size() > 1 || options.smooth == 0) continue;
    curve.raw_low.push_back(extremes[bin].first);
    curve.raw_high.push_back(extremes[bin].second);
  }
  return curve;
}

Curve make_evaluation_curve(const std::vector<const Series*>& runs) {
  Curve curve;
  for (size_t i = 0;; ++i) {
    std::vector<double> steps, values;
    for (const Series* run : runs)
      if (i < run->size()) steps.push_back(double((*run)[i].first)), values.push_back((*run)[i].second);
    if (values.empty() || 2 * values.size() < runs.size()) return curve;
    add_point(curve, mean_spread(steps).mean, mean_spread(values), runs.size());
  }
}

Stack make_stack(const std::vector<std::vector<const Series*>>& parts,
                 const std::vector<const Series*>& whole, int64_t last_step, int64_t points) {
  const int64_t width = bin_width(last_step, points);
  std::vector<std::vector<double>> sums(parts.size(), std::vector<double>(bin_of(last_step, width) + 1));
  std::vector<double> counts(bin_of(last_step, width) + 1);
  const auto add = [&](const Series& series, auto&& to) {
    for (const auto& [step, value] : series)
      if (step > 0 && step <= last_step && std::isfinite(value)) to(bin_of(step, width), value);
  };
  for (const Series* run : whole) add(*run, [&](size_t bin, double) { ++counts[bin]; });
  for (size_t part = 0; part < parts.size(); ++part)
    for (const Series* run : parts[part])
      if (run) add(*run, [&](size_t bin, double value) { sums[part][bin] += value; });
  Stack stack{{}, std::vector<std::vector<double>>(parts.size())};
  for (size_t bin = 1; bin < counts.size(); ++bin) {
    if (counts[bin] == 0) continue;
    stack.step.push_back(step_of(bin, width));
    for (size_t part = 0; part < parts.size(); ++part)
      stack.values[part].push_back(sums[part][bin] / counts[bin]);
  }
  return stack;
}

}  // namespace temper::trainer
