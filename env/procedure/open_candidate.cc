#include "env/procedure/open_candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace temper::env {
namespace {

bool parse_all(const std::vector<std::string>& texts, std::vector<LaunchPlan>& plans) {
  return std::ranges::all_of(
      texts, [&](const std::string& text) { return parse_plan(text, plans.emplace_back()).empty(); });
}

bool has_choices(const LaunchPlan& plan) { return !plan.choices.empty(); }

}  // namespace

OpenCandidate::OpenCandidate(const GpuCandidate& candidate, size_t timed)
    : candidate_(candidate), timed_(std::min(timed, candidate.plans.size())) {
  open_ = parse_all(candidate.plans, plans_) && std::ranges::any_of(plans_, has_choices);
  if (!open_) return;
  for (auto plan = plans_.end() - ptrdiff_t(timed_); plan != plans_.end(); ++plan)
    for (const Choice& choice : plan->choices) {
      const auto same_slot = [&](const Choice* known) { return known->slot == choice.slot; };
      if (std::ranges::none_of(slots_, same_slot)) slots_.push_back(&choice);
    }
}

GpuCandidate OpenCandidate::chosen(const Configurations& configurations) const {
  std::vector<LaunchPlan> plans;
  for (const LaunchPlan& plan : plans_) plans.push_back(resolve(plan, configurations));
  return with(std::move(plans));
}

GpuCandidate OpenCandidate::timed_alone(const Configurations& configurations) const {
  std::vector<LaunchPlan> plans;
  for (auto plan = plans_.end() - ptrdiff_t(timed_); plan != plans_.end(); ++plan)
    plans.push_back(resolve(*plan, configurations));
  return with(std::move(plans));
}

// An index that the candidate has no cubin for stays as large; the runner refuses it.
GpuCandidate OpenCandidate::with(std::vector<LaunchPlan> plans) const {
  GpuCandidate candidate{
      .cubins = {}, .plans = {}, .compile_ms = candidate_.compile_ms, .plan_ms = candidate_.plan_ms};
  std::map<uint32_t, uint32_t> numbers;  // of the cubins that are needed, before and after
  for (LaunchPlan& plan : plans) {
    for (PlanKernel& kernel : plan.kernels) {
      if (kernel.cubin >= candidate_.cubins.size()) continue;
      const auto [number, fresh] = numbers.emplace(kernel.cubin, uint32_t(candidate.cubins.size()));
      if (fresh) candidate.cubins.push_back(candidate_.cubins[kernel.cubin]);
      kernel.cubin = number->second;
    }
    candidate.plans.push_back(serialize(plan));
  }
  return candidate;
}

std::string OpenCandidate::words(const Configurations& configurations) const {
  std::string words;
  for (const Choice* choice : slots_) {
    const auto wanted = configurations.find(choice->slot);
    auto taken = choice->alternatives.begin();
    if (wanted != configurations.end())
      taken = std::ranges::find(choice->alternatives, wanted->second, &Alternative::configuration);
    if (taken == choice->alternatives.end()) taken = choice->alternatives.begin();
    words += fmt::format("{}configuration {} of {}{}{}", words.empty() ? "" : "; ",
                         taken - choice->alternatives.begin() + 1, choice->alternatives.size(),
                         taken->text.empty() ? "" : ": ", taken->text);
  }
  return words;
}

}  // namespace temper::env
