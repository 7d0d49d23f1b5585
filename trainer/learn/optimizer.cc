#include "trainer/learn/optimizer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "base/error.h"
#include "policy/parameters/flat.h"
#include "policy/parameters/parameter_store.h"
#include "policy/parameters/part_updates.h"

namespace temper::trainer {

using policy::ParameterStore;

namespace {

double share_left(const std::string& schedule, double progress) {
  if (schedule == "linear") return 1 - progress;
  if (schedule == "cosine") return 0.5 * (1 + std::cos(std::numbers::pi * progress));
  TEMPER_CHECK(schedule == "constant", "schedule {}", schedule);
  return 1;
}

policy::AdamWFactors factors(const OptimizerOptions& options, double lr, double norm, int64_t n) {
  return {.gradient_scale = options.clip > 0 && norm > options.clip ? options.clip / norm : 1,
          .keep = 1 - lr * options.weight_decay,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .step = lr / (1 - std::pow(options.beta1, double(n))),
          .root_correction = 1 / std::sqrt(1 - std::pow(options.beta2, double(n))),
          .epsilon = options.epsilon};
}

void update_all(ParameterStore& store, const std::vector<policy::ParameterPart>& parts,
                const policy::AdamWFactors& decayed) {
  policy::AdamWFactors plain = decayed;
  plain.keep = 1;
  policy::update_parts(store, parts, [&](const policy::ParameterInfo& p) -> const policy::AdamWFactors& {
    return p.decays ? decayed : plain;
  });
}

constexpr size_t kNorms = 16, kLeastNorms = 8;  // fewer say little of what is usual

double median_of(std::deque<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::string value_text(double value) {
  return std::isnan(value) ? "not a number" : value > 0 ? "infinity" : "-infinity";
}

// This rank's parameters with gradients that are not finite: the first in words, a line each.
std::vector<std::string> find_not_finite(ParameterStore& store) {
  std::vector<std::string> found;
  for (const policy::ParameterPart& p : store.parts()) {
    const at::Tensor wrong = at::isfinite(p.gradients).logical_not();
    const auto count = wrong.sum().item<int64_t>();
    if (count == 0) continue;
    const double first = p.gradients.masked_select(wrong)[0].item<double>();
    found.push_back(fmt::format("{}, {} of {} numbers, the first {}", p.parameter.name, count,
                                p.gradients.numel(), value_text(first)));
  }
  return found;
}

// Describes which gradients are not finite, over all shares.
std::string describe_not_finite(ParameterStore& store) {
  const std::vector<std::string> mine = find_not_finite(store);
  policy::Communicator& ranks = store.shard();
  const auto parameters = int64_t(ranks.sum(double(mine.size()), "gradient norm"));
  for (const std::string& first : ranks.all_gather(mine.empty() ? "" : mine.front(), "gradient norm"))
    if (!first.empty())
      return parameters > 1 ? fmt::format("{}, and {} parameters more", first, parameters - 1) : first;
  return "no single number, but the norm of them all";
}

}  // namespace

void OptimizerOptions::visit(OptionVisitor& v) {
  v.option("lr", lr, {.help = "peak learning rate", .min = 0});
  v.option("schedule", schedule,
           {.help = "schedule of the learning rate after the warm-up",
            .choices = {"constant", "linear", "cosine"}});
  v.option("warmup", warmup,
           {.help = "share of the run's updates with a rising learning rate", .min = 0, .max = 0.99});
  v.option("final_lr", final_lr,
           {.help = "learning rate at the end of linear and cosine, as a share of lr", .min = 0, .max = 1});
  v.option("beta1", beta1, {.help = "decay of the first moment", .min = 0, .max = 0.9999});
  v.option("beta2", beta2, {.help = "decay of the second moment", .min = 0, .max = 0.99999});
  v.option("epsilon", epsilon, {.help = "added to the root of the second moment", .min = 1e-30});
  v.option("weight_decay", weight_decay, {.help = "decoupled, per unit of lr; matrices only", .min = 0});
  v.option("clip", clip,
           {.help = "largest global norm of the gradient, which is scaled down to it; 0 for no "
                    "limit",
            .min = 0});
  v.option("max_spike", max_spike,
           {.help = "skip an update whose gradient has a norm of more than this many times the "
                    "median of the latest 16; 0 for no limit",
            .min = 0});
}

double learning_rate(const OptimizerOptions& options, double progress) {
  if (progress < options.warmup) return options.lr * progress / options.warmup;
  const double decayed = std::clamp((progress - options.warmup) / (1 - options.warmup), 0.0, 1.0);
  return options.lr * (options.final_lr + (1 - options.final_lr) * share_left(options.schedule, decayed));
}

AdamW::AdamW(ParameterStore& parameters, OptimizerOptions options)
    : parameters_(parameters), options_(std::move(options)) {}

void AdamW::reset() {
  parameters_.moment1().zero_();
  parameters_.moment2().zero_();
  restore(0, {});
}

void AdamW::restore(int64_t updates, std::deque<double> norms) {
  updates_ = updates;
  norms_ = std::move(norms);
}

// All ranks see the same norms, and so skip the same updates.
bool AdamW::is_spike(double norm) {
  if (options_.max_spike == 0 || norm == 0) return false;
  const double usual =
      norms_.size() < kLeastNorms ? std::numeric_limits<double>::infinity() : median_of(norms_);
  norms_.push_back(norm);
  if (norms_.size() > kNorms) norms_.pop_front();
  if (norm <= options_.max_spike * usual) return false;
  skipped_ = fmt::format("the gradient's norm of {:.4g} is {:.3g} times the median of the latest", norm,
                         norm / usual);
  return true;
}

double AdamW::update(double lr) {
  parameters_.finish_gradients();
  at::Tensor& gradients = parameters_.gradients();
  // A GPU still computes the backward. When its norm is known it has nothing to do until the first part is updated.
  const std::vector<policy::ParameterPart> parts = parameters_.parts();
  const double norm = std::sqrt(parameters_.shard().sum(policy::squared_norm(gradients), "gradient norm"));
  skipped_.clear();
  if (!std::isfinite(norm)) skipped_ = describe_not_finite(parameters_);
  if (!std::isfinite(norm) || is_spike(norm)) {
    gradients.zero_();
    return norm;
  }
  ++updates_;
  parameters_.ranks().note("update", uint64_t(updates_));
  parameters_.ranks().note("learning rate", std::bit_cast<uint64_t>(lr));
  update_all(parameters_, parts, factors(options_, lr, norm, updates_));
  return norm;
}

}  // namespace temper::trainer
