#include "env/oracle/sensitivity.h"

#include <ATen/ops/maximum.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/rng.h"
#include "env/call/draw_forms.h"

namespace temper::env {
namespace {

// Of eight patterns the largest is under half of what is usual at one element in 2,000. Of 32 none of any output is.
constexpr uint64_t kPatterns = 8, kMostPatterns = 32;
constexpr double kByChance =
    1e-3;  // the share of the elements that chance may explain after the first patterns

double half_last_place(ElementType type) {
  return type == ElementType::kBF16 ? 0x1p-9 : type == ElementType::kF16 ? 0x1p-12 : 0x1p-24;
}

}  // namespace

RoundingErrors rounding_errors(const Task& task, const Shape& shape) {
  const double summed = half_last_place(ElementType::kF32) * std::sqrt(longest_sum(task, shape));
  double widest = 1;
  for (const TensorSpec& input : task.inputs)
    if (is_float(input.type)) widest = std::min(widest, half_last_place(input.type));
  return {.inputs = summed, .results = widest < 1 ? std::max(summed, widest) : summed};
}

Movements::Movements(RoundedReference reference, std::vector<at::Tensor> expected, uint64_t key)
    : reference_(std::move(reference)), expected_(std::move(expected)), most_(expected_.size()), key_(key) {}

const at::Tensor& Movements::of(size_t output) {
  if (made_ == 0) widen();
  return most_[output];
}

bool Movements::explain(size_t output, const std::function<double(const at::Tensor&)>& outside) {
  for (;;) {
    const double share = outside(of(output));
    if (share == 0) return true;
    if (!widen(share)) return false;
  }
}

bool Movements::widen(double outside) {
  if (made_ >= (outside <= kByChance ? kMostPatterns : kPatterns)) return false;
  const std::vector<at::Tensor> moved = reference_(mix_key({key_, made_}));
  bool same = made_ > 0;
  for (size_t i = 0; i < expected_.size(); ++i) {
    if (!expected_[i].is_floating_point()) continue;
    const at::Tensor off = (moved[i] - expected_[i]).abs();
    same = same && off.equal(most_[i]);
    most_[i] = made_ == 0 ? off : at::maximum(most_[i], off);
  }
  made_ = same ? kMostPatterns : made_ + 1;
  return true;
}

}  // namespace temper::env
