#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "trainer/plan/plan.h"
#include "trainer/plan/step_cost.h"

namespace temper::trainer {
namespace {

// What would make a run fit into the host's memory.
std::string host_advice(const MemoryPlan& memory) {
  const auto holds = [&](const char* what) {
    return std::ranges::any_of(memory.items, [=](const MemoryItem& item) { return item.what == what; });
  };
  if (holds(kOffloadedActivations)) return "lower model.offload_activations or env.lanes";
  if (holds(kOffloadedState)) return "set model.offload_optimizer=false, take more GPUs or lower env.lanes";
  return "lower rollout.max_sequences, learner.micro_batch_tokens, cold_start.micro_batch_tokens or "
         "env.lanes, set model.recompute=all, or choose a smaller model";
}

// Whose they are, where the judge takes some.
std::string judge_text(const JudgePlan& judge, const MemoryPlan& memory) {
  if (judge.items.empty()) return "";
  const int64_t bytes = MemoryPlan{.name = "", .items = judge.items}.needed_bytes(),
                policy = memory.needed_bytes() - bytes;
  const bool too_large = policy > memory.available_bytes;
  return fmt::format("; the policy takes {}, which {} by itself, and the judge {}{}", bytes_text(policy),
                     too_large ? "is too much" : "fits", bytes_text(bytes),
                     too_large ? "" : ", to which env.gpus gives GPUs of its own");
}

std::string step_text(const StepCost& step) {
  std::string text = fmt::format(
      "a step, at most\n  {} trajectories, {} verdicts, {} generated tokens, {} learned tokens, {:.3g} "
      "TFLOP\n  {} of trajectories on the disk, a checkpoint of {:.1f} GB\n",
      step.trajectories, step.verdicts, step.generated_tokens, step.learned_tokens, step.flops * 1e-12,
      bytes_text(step.record_bytes), double(step.checkpoint_bytes) * 1e-9);
  if (step.generate_s > 0) text += estimate_text(step);
  return text;
}

}  // namespace

std::string bytes_text(int64_t bytes) {
  const double mib = double(bytes) / (1 << 20);
  if (bytes > 0 && mib < 0.1) return fmt::format("{:.1f} KiB", mib * 1024);
  return mib < 1024 ? fmt::format("{:.1f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
}

std::string left_out_text(const Plan& plan) {
  const JudgePlan& judge = plan.judge;
  if (judge.left_out.empty()) return "";
  std::vector<std::string> names;
  for (const TooLarge& one : judge.left_out)
    names.push_back(fmt::format("{} ({})", one.task, bytes_text(one.bytes)));
  return fmt::format(
      "left out: {} of {} problems, for which the {} that the policy leaves to the judge are too little: {}. "
      "env.gpus gives the judge GPUs of its own. Beside all of them: {}",
      names.size(), judge.problems, bytes_text(judge.room_bytes), fmt::join(names, ", "),
      plan.advice_for_all);
}

std::string misfit(const Plan& plan) {
  for (const MemoryPlan& memory : plan.memories) {
    if (memory.fits()) continue;
    const bool of_host = &memory == &plan.memories.front();
    return fmt::format("the run needs {} of {} and {} are available: {}{}", bytes_text(memory.needed_bytes()),
                       memory.name, bytes_text(memory.available_bytes),
                       !of_host && !plan.advice.empty() ? plan.advice : host_advice(memory),
                       of_host ? "" : judge_text(plan.judge, memory));
  }
  return "";
}

void check_fits(const Plan& plan) {
  if (const std::string why = misfit(plan); !why.empty()) throw ConfigError("{}\n{}", why, to_text(plan));
}

std::string summary(const MemoryPlan& memory) {
  return fmt::format("needs {} of {}, {} are available", bytes_text(memory.needed_bytes()), memory.name,
                     bytes_text(memory.available_bytes));
}

std::string to_text(const MemoryPlan& memory) {
  std::string text = memory.name + "\n";
  const auto line = [&](const std::string& what, const std::string& value) {
    text += fmt::format("  {:<40}{:>12}\n", what, value);
  };
  for (const MemoryItem& item : memory.items) line(item.what, bytes_text(item.bytes));
  line("needed", bytes_text(memory.needed_bytes()));
  line("available", memory.available_bytes < 0 ? "not known" : bytes_text(memory.available_bytes));
  if (memory.available_bytes < 0) return text;
  const int64_t left = memory.available_bytes - memory.needed_bytes();
  line(left < 0 ? "missing" : "headroom", bytes_text(std::abs(left)));
  return text;
}

std::string to_text(const Plan& plan) {
  std::string text;
  for (const MemoryPlan& memory : plan.memories) text += to_text(memory);
  if (!plan.advice.empty()) text += plan.advice + "\n";
  if (const std::string line = left_out_text(plan); !line.empty()) text += line + "\n";
  return text + step_text(plan.step);
}

}  // namespace temper::trainer
