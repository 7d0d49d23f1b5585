#include "env/oracle/sensitivity.h"

#include <ATen/ops/maximum.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/rng.h"
#include "env/call/draw_forms.h"

namespace temper::env {
namespace {

// Of four patterns the largest is under six tenths of what is usual at one element in 25, of eight at one in 600.
constexpr uint64_t kPatterns = 8;
constexpr double kHalfLastPlace = 0x1p-24;

}  // namespace

double summed_rounding(const Task& task, const Shape& shape) {
  return kHalfLastPlace * std::sqrt(longest_sum(task, shape));
}

Movements::Movements(RoundedReference reference, std::vector<at::Tensor> expected, uint64_t key)
    : reference_(std::move(reference)), expected_(std::move(expected)), most_(expected_.size()), key_(key) {}

const at::Tensor& Movements::of(size_t output) {
  if (made_ == 0) widen();
  return most_[output];
}

bool Movements::widen() {
  if (made_ == kPatterns) return false;
  const std::vector<at::Tensor> moved = reference_(mix_key({key_, made_}));
  for (size_t i = 0; i < expected_.size(); ++i) {
    if (!expected_[i].is_floating_point()) continue;
    const at::Tensor off = (moved[i] - expected_[i]).abs();
    most_[i] = made_ == 0 ? off : at::maximum(most_[i], off);
  }
  ++made_;
  return true;
}

}  // namespace temper::env
