#include "trainer/plan/plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "policy/layouts.h"
#include "policy/parameters/parameter_store.h"
#include "policy/parameters/shard_groups.h"
#include "trainer/plan/step_cost.h"

namespace temper::trainer {

using policy::ModelConfig;

namespace {

constexpr int64_t kF32 = 4, kBF16 = 2;
constexpr int64_t kOracleBytes = 300ll << 20;   // libtorch and a task's tensors
constexpr int64_t kProcessBytes = 300ll << 20;  // libtorch and our own data
constexpr int64_t kPrefillTokens = 4096;        // rollout/generator.cc's
constexpr int64_t kMostRanks = 1024, kMostSequences = 4096;

// What the backward adds to before it is summed over ranks.
int64_t unsummed_gradient_bytes(const ModelConfig& shape, int64_t zero_stage, int64_t ranks) {
  return kF32 * policy::UnsummedGradients::size(policy::units_of(shape, ranks),
                                                policy::zero_stage_for(shape, zero_stage));
}

int64_t shard_ranks(const RunConfig& config, const PlanSite& site) {
  return policy::shard_group_size(config.model.memory.shard_degree, site.ranks);
}

// Gradients, master and moments are sharded over `ranks` ranks.
std::vector<MemoryItem> parameter_memory(const RunConfig& config, const ModelConfig& shape, int64_t ranks) {
  const int64_t parameters = shape.parameter_count();
  const bool gpu = config.model.policy().on_gpu();
  const int64_t weight_bytes = gpu ? kBF16 : kF32;
  std::vector<MemoryItem> items = {{"weights", weight_bytes * parameters}};
  if (gpu) items.push_back({"master weights", kF32 * parameters / ranks});
  items.push_back({"gradients", kF32 * parameters / ranks});
  items.push_back({"optimizer moments", 2 * kF32 * parameters / ranks});
  if (ranks > 1)
    items.push_back({fmt::format("gradients not yet summed over {} ranks", ranks),
                     unsummed_gradient_bytes(shape, config.model.memory.zero_stage, ranks)});
  if (config.loss.kl_coefficient > 0) items.push_back({"reference weights", weight_bytes * parameters});
  return items;
}

int64_t largest_pack(const RunConfig& config) {
  const int64_t cold =
      config.has_cold_start() && config.cold_start.epochs > 0 ? config.cold_start.micro_batch_tokens : 0;
  return std::max({config.learner.micro_batch_tokens, cold, config.rollout.max_context_tokens});
}

// Where the policy computes.
MemoryPlan device_memory(const RunConfig& config, const ModelConfig& shape, const PlanSite& site) {
  const rollout::RolloutOptions& r = config.rollout;
  const policy::PolicyOptions options = config.model.policy();
  const int64_t pack = largest_pack(config);
  MemoryPlan device{.name = options.on_gpu() ? "GPU memory" : "memory",
                    .items = parameter_memory(config, shape, shard_ranks(config, site)),
                    .available_bytes = options.on_gpu() ? site.free_gpu_bytes : site.free_host_bytes};
  device.items.push_back(
      {fmt::format("activations of {} tokens", pack), policy::activation_bytes(shape, options, pack, pack)});
  device.items.push_back({fmt::format("keys and values of {} sequences", r.max_sequences),
                          policy::KvCache::bytes(shape, options, r.max_sequences, r.max_context_tokens)});
  return device;
}

void add_gpu_items(const RunConfig& config, const ModelConfig& shape, const PlanSite& site,
                   const std::vector<MemoryItem>& judge, MemoryPlan& gpu) {
  const rollout::RolloutOptions& r = config.rollout;
  gpu.items.push_back(
      {"a decode step and a prefill",
       policy::generation_bytes(shape, r.max_sequences, kPrefillTokens + r.max_context_tokens)});
  gpu.items.push_back({"attention's backward",
                       policy::attention_backward_bytes(shape, r.max_context_tokens, site.attention_bytes)});
  gpu.items.push_back({"libraries", site.library_bytes});
  gpu.items.insert(gpu.items.end(), judge.begin(), judge.end());
}

std::vector<MemoryPlan> memories_of(const RunConfig& config, const ModelConfig& shape, const PlanSite& site,
                                    const std::vector<MemoryItem>& judge) {
  const bool gpu = config.model.policy().on_gpu();
  const int64_t lanes = config.env.lanes > 0 ? config.env.lanes : site.cores;
  MemoryPlan device = device_memory(config, shape, site);
  MemoryPlan host =
      gpu ? MemoryPlan{.name = "memory", .items = {}, .available_bytes = site.free_host_bytes} : device;
  host.items.push_back(
      {fmt::format("judge, {} lanes", lanes), lanes * ((config.env.memory_mb << 20) + kOracleBytes)});
  host.items.push_back(
      {"checkpoint while it is written", 3 * kF32 * shape.parameter_count() / shard_ranks(config, site)});
  host.items.push_back({"program", kProcessBytes});
  if (!gpu) return {host};
  add_gpu_items(config, shape, site, judge, device);
  return {host, device};
}

std::string bytes_text(int64_t bytes) {
  const double mib = double(bytes) / (1 << 20);
  return mib < 1024 ? fmt::format("{:.1f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
}

// Tries settings out on the same layouts; of the GPU's memory.
class Advice {
 public:
  Advice(const RunConfig& config, const ModelConfig& shape, const PlanSite& site,
         const std::vector<MemoryItem>& judge)
      : config_(config), shape_(shape), site_(site), judge_(judge) {}

  std::string text() {
    if (const int64_t most = most_sequences(); most > 0)
      return fmt::format("rollout.max_sequences may be up to {}", most);
    if (!config_.model.memory.recompute) {
      config_.model.memory.recompute = true;
      if (const int64_t most = most_sequences(); most > 0)
        return fmt::format("model.recompute=true and rollout.max_sequences of at most {} make it fit", most);
    }
    if (std::exchange(config_.model.memory.shard_degree, 0) > 0)
      if (const int64_t most = most_sequences(); most > 0)
        return fmt::format(
            "model.shard_degree=0, model.recompute=true and rollout.max_sequences of at most {} make it fit",
            most);
    const PlanSite here = site_;
    for (site_.ranks = 2 * here.ranks; site_.ranks <= kMostRanks; site_.ranks *= 2)
      if (const int64_t most = most_sequences(); most > 0)
        return fmt::format(
            "{} such GPUs, model.recompute=true and rollout.max_sequences of at most {} make it fit",
            site_.ranks, most);
    return fmt::format(
        "no number of such GPUs makes it fit: each holds the whole weights and the gradients of the "
        "embedding, the "
        "head and two blocks, and weights sharded over the GPUs (ZeRO-3) are not there; a smaller model, a "
        "shorter "
        "rollout.max_context_tokens or GPUs of more memory make it fit");
  }

 private:
  bool fits(int64_t sequences) {
    config_.rollout.max_sequences = sequences;
    return memories_of(config_, shape_, site_, judge_).back().fits();
  }
  // 0: not one.
  int64_t most_sequences() {
    int64_t low = 0, high = kMostSequences + 1;
    while (high - low > 1) (fits(std::midpoint(low, high)) ? low : high) = std::midpoint(low, high);
    return low;
  }

  RunConfig config_;
  const ModelConfig& shape_;
  PlanSite site_;
  const std::vector<MemoryItem>& judge_;
};

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

int64_t MemoryPlan::needed_bytes() const {
  int64_t sum = 0;
  for (const MemoryItem& item : items) sum += item.bytes;
  return sum;
}

Plan make_plan(const RunConfig& config, const ModelConfig& shape, const PlanSite& site,
               const std::vector<MemoryItem>& judge) {
  policy::check_shard_degree(config.model.memory.shard_degree, site.ranks);
  Plan plan{.memories = memories_of(config, shape, site, judge),
            .step = step_cost(config, shape, site),
            .advice = ""};
  if (config.model.policy().on_gpu()) plan.advice = Advice(config, shape, site, judge).text();
  return plan;
}

std::string misfit(const Plan& plan) {
  for (const MemoryPlan& memory : plan.memories)
    if (!memory.fits())
      return fmt::format(
          "the run needs {} of {} and {} are available: {}", bytes_text(memory.needed_bytes()), memory.name,
          bytes_text(memory.available_bytes),
          &memory == &plan.memories.back() && !plan.advice.empty()
              ? plan.advice
              : "lower rollout.max_sequences, learner.micro_batch_tokens, "
                "cold_start.micro_batch_tokens or env.lanes, set model.recompute=true, or choose a "
                "smaller model");
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
  return text + step_text(plan.step);
}

}  // namespace temper::trainer
