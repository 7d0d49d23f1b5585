#include "env/oracle/sensitivity.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "env/call/draw_forms.h"

namespace temper::env {
namespace {

// Of four patterns the largest is under six tenths of what is usual at one element in 25, of eight at one in 600.
constexpr uint64_t kPatterns = 8;
constexpr double kHalfLastPlace = 0x1p-24;

// 1 ± rounding for each element, made where the element is: the largest inputs of a GPU's tasks would take seconds here.
at::Tensor random_roundings(const at::Tensor& like, double rounding, uint64_t key) {
  at::Generator generator = at::globalContext().defaultGenerator(like.device()).clone();
  generator.set_current_seed(key);
  at::Tensor signs = at::empty(like.sizes(), like.options().dtype(at::kDouble));
  return signs.random_(0, 2, generator).mul_(2 * rounding).add_(1 - rounding);
}

}  // namespace

double summed_rounding(const Task& task, const Shape& shape) {
  return kHalfLastPlace * std::sqrt(longest_sum(task, shape));
}

std::vector<at::Tensor> movements(const WideReference& reference, const std::vector<at::Tensor>& inputs,
                                  const std::vector<at::Tensor>& expected, double rounding, uint64_t key) {
  std::vector<at::Tensor> most(expected.size());
  for (uint64_t pattern = 0; pattern < kPatterns; ++pattern) {
    std::vector<at::Tensor> rounded;
    for (const at::Tensor& input : inputs) {
      const uint64_t input_key = mix_key({key, pattern, rounded.size()});
      rounded.push_back(input.is_floating_point()
                            ? input.to(at::kDouble) * random_roundings(input, rounding, input_key)
                            : input);
    }
    const std::vector<at::Tensor> moved = reference(rounded);
    for (size_t i = 0; i < expected.size(); ++i) {
      if (!expected[i].is_floating_point()) continue;
      const at::Tensor off = (moved[i] - expected[i]).abs();
      most[i] = pattern == 0 ? off : at::maximum(most[i], off);
    }
  }
  return most;
}

}  // namespace temper::env
