#include "env/oracle/tolerance.h"

#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "env/call/draw_forms.h"

namespace temper::env {
namespace {

constexpr double kBaselineErrors = 4;  // a candidate may be this many times as wrong as the baseline
constexpr double kScaleElements = 64, kLeastDraws = 4, kMostDraws = 16;
constexpr double kRounding = 4 * 0x1p-24;  // times the root of the number of terms, for sums in plain order

// The rounding of an output, and the most that a baseline's error may excuse.
struct Precision {
  double rounding, most;
};
Precision precision_of(ElementType type) {
  if (type == ElementType::kBF16) return {0x1p-8, 5e-2};
  if (type == ElementType::kF16) return {0x1p-11, 2e-2};
  return {0, 1e-2};
}

double summing_error(const Task& task, size_t output, const Shape& shape) {
  return kRounding * std::sqrt(terms_of_output(task, output, shape));
}

}  // namespace

at::ScalarType dtype_of(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return at::kFloat;
    case ElementType::kI32:
      return at::kInt;
    case ElementType::kBF16:
      return at::kBFloat16;
    case ElementType::kF16:
      return at::kHalf;
  }
  TEMPER_CHECK(false, "element type {}", int(type));
}

std::vector<double> output_scales(const Task& task, const Shape& shape, const OutputsOfDraw& outputs_of) {
  double fewest = kScaleElements;
  for (const auto& output : task.outputs) fewest = std::min(fewest, double(tensor_elements(output, shape)));
  const auto draws = uint64_t(std::clamp(kScaleElements / fewest, kLeastDraws, kMostDraws));
  std::vector<at::Tensor> sums(task.outputs.size());
  for (uint64_t draw = 0; draw < draws; ++draw) {
    const std::vector<at::Tensor> outputs = outputs_of(draw);
    for (size_t i = 0; i < sums.size(); ++i) {
      const at::Tensor finite = outputs[i].to(dtype_of(task.outputs[i].type)).isfinite();
      const at::Tensor mean = at::where(finite, outputs[i].to(at::kDouble).abs(), 0.0).mean();
      sums[i] = draw == 0 ? mean : sums[i] + mean;
    }
  }
  std::vector<double> scales;
  for (const auto& sum : sums) scales.push_back(sum.item<double>() / double(draws));
  return scales;
}

double strict_error(const Task& task, size_t output, const Shape& shape) {
  return task.tolerance + precision_of(task.outputs[output].type).rounding +
         summing_error(task, output, shape);
}

// A sum that has grown to G times n plain terms loses those below 2^-24 of it half the time or always, which
// is when G n > 2^24, and then at most n 2^-25 of itself.
double most_growth(const Task& task, size_t output, const Shape& shape) {
  constexpr double kSpare = 8;
  const double n = terms_of_output(task, output, shape);
  if (n * 0x1p-25 < strict_error(task, output, shape)) return std::numeric_limits<double>::infinity();
  return std::max(1.0, 0x1p24 / kSpare / n);
}

double allowed_error(double strict, ElementType type, double single_error, double eager_error) {
  const double own = element_size(type) < sizeof(float) ? eager_error : 0;
  return std::min(strict + kBaselineErrors * single_error + own, std::max(precision_of(type).most, strict));
}

double allowed_error(double strict, ElementType type, double baseline_error) {
  return std::min(strict + kBaselineErrors * baseline_error, std::max(precision_of(type).most, strict));
}

}  // namespace temper::env
