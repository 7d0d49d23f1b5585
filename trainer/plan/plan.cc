#include "trainer/plan/plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "policy/keep.h"
#include "policy/layouts.h"
#include "policy/parameters/parameter_store.h"
#include "policy/parameters/part_updates.h"
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

// What is in a memory at the same time: all that the run needs, or what one of its phases does.
enum class Held { kAlways, kInRollout, kInUpdate };

// Under ZeRO-3 over several ranks the phases hold different weights.
bool shards_weights(const RunConfig& config, const ModelConfig& shape, const PlanSite& site) {
  return policy::zero_stage_for(shape, config.model.memory.zero_stage) == 3 && shard_ranks(config, site) > 1;
}

std::string name_of(const std::string& memory, Held held) {
  return held == Held::kAlways      ? memory
         : held == Held::kInRollout ? memory + " in a rollout"
                                    : memory + " in an update";
}

// A rollout's are put together beside this rank's share of them, unless that is rounded from master weights on the way.
std::vector<MemoryItem> sharded_weights(const ModelConfig& shape, int64_t weight_bytes, int64_t ranks,
                                        bool has_share, Held held) {
  const int64_t all = weight_bytes * shape.parameter_count();
  std::vector<MemoryItem> items;
  if (has_share) items.push_back({fmt::format("weights, the share of one of {} ranks", ranks), all / ranks});
  if (held == Held::kInRollout)
    items.push_back({"weights", all});
  else
    items.push_back({"weights gathered from the ranks",
                     weight_bytes * policy::GatheredWeights::size(policy::units_of(shape, ranks))});
  return items;
}

// Gradients, master and moments are sharded over `ranks` ranks.
std::vector<MemoryItem> parameter_memory(const RunConfig& config, const ModelConfig& shape,
                                         const PlanSite& site, Held held) {
  const int64_t parameters = shape.parameter_count(), ranks = shard_ranks(config, site);
  const bool shards = shards_weights(config, shape, site);
  const bool gpu = config.model.policy().on_gpu();
  const int64_t weight_bytes = gpu ? kBF16 : kF32;
  const bool offloads = gpu && config.model.memory.offload_optimizer;
  std::vector<MemoryItem> items = shards ? sharded_weights(shape, weight_bytes, ranks, !gpu || offloads, held)
                                         : std::vector<MemoryItem>{{"weights", weight_bytes * parameters}};
  if (gpu && !offloads) items.push_back({"master weights", kF32 * parameters / ranks});
  items.push_back({"gradients", kF32 * parameters / ranks});
  if (!offloads) items.push_back({"optimizer moments", 2 * kF32 * parameters / ranks});
  if (config.model.memory.offload_optimizer)
    items.push_back(
        {"master weights and moments in passing", policy::update_stage_bytes(parameters / ranks)});
  if (ranks > 1 && held != Held::kInRollout)
    items.push_back({fmt::format("gradients not yet summed over {} ranks", ranks),
                     unsummed_gradient_bytes(shape, config.model.memory.zero_stage, ranks)});
  if (config.loss.kl_coefficient > 0)
    items.push_back({"reference weights", weight_bytes * parameters / (shards ? ranks : 1)});
  return items;
}

int64_t largest_pack(const RunConfig& config) {
  const int64_t cold =
      config.has_cold_start() && config.cold_start.epochs > 0 ? config.cold_start.micro_batch_tokens : 0;
  return std::max({config.learner.micro_batch_tokens, cold, config.rollout.max_context_tokens});
}

// Of packs in which rows share their beginnings; a row that is longer than a pack shares nothing.
int64_t most_key_copies(const RunConfig& config) {
  return config.learner.share_prompts ? kMostKeyCopies * config.learner.micro_batch_tokens : 0;
}

// Where the policy computes.
MemoryPlan device_memory(const RunConfig& config, const ModelConfig& shape, const PlanSite& site, Held held) {
  const rollout::RolloutOptions& r = config.rollout;
  const policy::PolicyOptions options = config.model.policy();
  const int64_t pack = largest_pack(config);
  MemoryPlan device{.name = name_of(options.on_gpu() ? "GPU memory" : "memory", held),
                    .items = parameter_memory(config, shape, site, held),
                    .available_bytes = options.on_gpu() ? site.free_gpu_bytes : site.free_host_bytes};
  if (held != Held::kInRollout)
    device.items.push_back({fmt::format("activations of {} tokens", pack),
                            policy::activation_bytes(shape, options, pack, pack, most_key_copies(config))});
  if (held != Held::kInUpdate)
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

void add_host_items(const RunConfig& config, const ModelConfig& shape, const PlanSite& site,
                    MemoryPlan& host) {
  const int64_t lanes = config.env.lanes > 0 ? config.env.lanes : site.cores;
  host.items.push_back(
      {fmt::format("judge, {} lanes", lanes), lanes * ((config.env.memory_mb << 20) + kOracleBytes)});
  // A checkpoint is written from a copy, except of what lies on the host.
  const bool offloads = config.model.memory.offload_optimizer;
  if (!offloads || config.model.policy().on_gpu())
    host.items.push_back({offloads ? kOffloadedState : "checkpoint while it is written",
                          3 * kF32 * shape.parameter_count() / shard_ranks(config, site)});
  if (config.model.memory.offload_activations > 0)
    host.items.push_back(
        {kOffloadedActivations, policy::offloaded_bytes(shape, config.model.policy(), largest_pack(config))});
  host.items.push_back({"program", kProcessBytes});
}

// Of the policy's device, with all that is beside it there.
MemoryPlan whole_device(const RunConfig& config, const ModelConfig& shape, const PlanSite& site,
                        const std::vector<MemoryItem>& judge, Held held) {
  MemoryPlan device = device_memory(config, shape, site, held);
  if (config.model.policy().on_gpu())
    add_gpu_items(config, shape, site, judge, device);
  else
    add_host_items(config, shape, site, device);
  return device;
}

// One plan where phases are together, else one for each.
std::vector<MemoryPlan> device_memories(const RunConfig& config, const ModelConfig& shape,
                                        const PlanSite& site, const std::vector<MemoryItem>& judge) {
  const std::string& phases = config.model.memory.phases;
  if (phases != "apart" && !shards_weights(config, shape, site)) {
    MemoryPlan all = whole_device(config, shape, site, judge, Held::kAlways);
    if (phases == "together" || all.fits()) return {std::move(all)};
  }
  return {whole_device(config, shape, site, judge, Held::kInRollout),
          whole_device(config, shape, site, judge, Held::kInUpdate)};
}

int64_t least_headroom(const std::vector<MemoryPlan>& memories) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const MemoryPlan& memory : memories)
    least = std::min(least, memory.available_bytes - memory.needed_bytes());
  return least;
}

// The machine's, and then a GPU's.
std::vector<MemoryPlan> memories_of(const RunConfig& config, const ModelConfig& shape, const PlanSite& site,
                                    const std::vector<MemoryItem>& judge) {
  std::vector<MemoryPlan> memories = device_memories(config, shape, site, judge);
  if (!config.model.policy().on_gpu()) return memories;
  MemoryPlan host{.name = "memory", .items = {}, .available_bytes = site.free_host_bytes};
  add_host_items(config, shape, site, host);
  memories.insert(memories.begin(), std::move(host));
  return memories;
}

int64_t bytes_of(const std::vector<MemoryItem>& items) {
  return MemoryPlan{.name = "", .items = items}.needed_bytes();
}

// Tries settings out on the same layouts; of the GPU's memory.
class Advice {
 public:
  Advice(const RunConfig& config, const ModelConfig& shape, const PlanSite& site,
         const std::vector<MemoryItem>& judge)
      : config_(config),
        shape_(shape),
        site_(site),
        judge_(judge),
        given_sequences_(config.rollout.max_sequences) {}

  std::string text() {
    if (const int64_t most = most_sequences(); most > 0)
      return fmt::format("rollout.max_sequences may be up to {}", most);
    policy::MemoryOptions& memory = config_.model.memory;
    for (const char* part : {"feed_forward", "all"}) {
      if (memory.recompute == "all" && memory.recompute_blocks == 0) break;
      memory.recompute = part;
      memory.recompute_blocks = 0;
      if (const int64_t most = most_sequences(); most > 0) {
        const int64_t sequences = std::min(most, given_sequences_), blocks = fewest_blocks(sequences);
        if (blocks == shape_.num_hidden_layers - 1)
          return fmt::format("model.recompute={} and rollout.max_sequences of at most {} make it fit", part,
                             most);
        return fmt::format(
            "model.recompute={}, model.recompute_blocks of at least {} and rollout.max_sequences of "
            "at most {} make it fit",
            part, blocks, sequences);
      }
    }
    memory.recompute_blocks = 0;
    if (std::exchange(config_.model.memory.shard_degree, 0) > 0)
      if (const int64_t most = most_sequences(); most > 0)
        return fmt::format(
            "model.shard_degree=0, model.recompute=all and rollout.max_sequences of at most {} make it fit",
            most);
    const int64_t given = std::exchange(config_.model.memory.zero_stage, 3);
    if (const int64_t most = most_sequences(); most > 0)
      return fmt::format(
          "model.zero_stage=3, model.recompute=all and rollout.max_sequences of at most {} make it fit",
          most);
    config_.model.memory.zero_stage = given;
    if (const std::string text = offloaded(); !text.empty()) return text;
    if (const std::string text = more_gpus(""); !text.empty()) return text;
    config_.model.memory.zero_stage = 3;
    if (const std::string text = more_gpus("model.zero_stage=3, "); !text.empty()) return text;
    if (policy_fits())
      return fmt::format(
          "no setting and no number of such GPUs leaves the judge its {}; env.gpus gives it GPUs of its own",
          bytes_text(bytes_of(judge_)));
    return fmt::format(
        "no number of such GPUs makes it fit: each holds the whole weights in a rollout, and in an update "
        "the gradients of the embedding, the head and two blocks beside the activations; a smaller model, a "
        "shorter rollout.max_context_tokens or GPUs of more memory make it fit");
  }

 private:
  // The advice to keep the optimizer's state in the host's memory. Empty if the run does not fit with it either, or if the host
  // has too little memory.
  std::string offloaded() {
    const policy::MemoryOptions given = config_.model.memory;
    config_.model.memory.offload_optimizer = true;
    for (const bool shards : {false, true}) {
      if (shards) config_.model.memory.zero_stage = 3;
      if (const int64_t most = host_fits() ? most_sequences() : 0; most > 0)
        return fmt::format(
            "model.offload_optimizer=true, {}model.recompute=all and rollout.max_sequences of "
            "at most {} make it fit",
            shards ? "model.zero_stage=3, " : "", most);
    }
    config_.model.memory = given;
    return "";
  }
  bool host_fits() const {
    MemoryPlan host{.name = "memory", .items = {}, .available_bytes = site_.free_host_bytes};
    add_host_items(config_, shape_, site_, host);
    return host.fits();
  }
  // Empty where no number is enough.
  std::string more_gpus(const char* words) {
    const PlanSite here = site_;
    for (site_.ranks = 2 * here.ranks; site_.ranks <= kMostRanks; site_.ranks *= 2)
      if (const int64_t most = most_sequences(); most > 0)
        return fmt::format(
            "{} such GPUs, {}model.recompute=all and rollout.max_sequences of at most {} make it fit",
            site_.ranks, words, most);
    site_ = here;
    return "";
  }
  // Whether it would fit if the judge were elsewhere, with what was tried last.
  bool policy_fits() {
    config_.rollout.max_sequences = 1;
    return std::ranges::all_of(device_memories(config_, shape_, site_, {}), &MemoryPlan::fits);
  }
  // That must recompute so that so many sequences fit, where they do if all of them recompute but the last, which never does.
  int64_t fewest_blocks(int64_t sequences) {
    int64_t too_few = 0, enough = shape_.num_hidden_layers - 1;
    while (enough - too_few > 1) {
      int64_t& blocks = config_.model.memory.recompute_blocks = std::midpoint(too_few, enough);
      (fits(sequences) ? enough : too_few) = blocks;
    }
    return enough;
  }
  bool fits(int64_t sequences) {
    config_.rollout.max_sequences = sequences;
    return std::ranges::all_of(device_memories(config_, shape_, site_, judge_), &MemoryPlan::fits);
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
  const int64_t given_sequences_;
};

}  // namespace

int64_t MemoryPlan::needed_bytes() const {
  int64_t sum = 0;
  for (const MemoryItem& item : items) sum += item.bytes;
  return sum;
}

MemoryPlan update_memory(const RunConfig& config, const ModelConfig& shape, const PlanSite& site) {
  return device_memory(config, shape, site, Held::kInUpdate);
}

int64_t room_beside_policy(const RunConfig& config, const ModelConfig& shape, const PlanSite& site) {
  RunConfig apart = config;
  if (config.model.memory.phases != "together") apart.model.memory.phases = "apart";
  return std::max(least_headroom(device_memories(config, shape, site, {})),
                  least_headroom(device_memories(apart, shape, site, {})));
}

Plan make_plan(const RunConfig& config, const ModelConfig& shape, const PlanSite& site,
               const JudgePlan& judge) {
  policy::check_shard_degree(config.model.memory.shard_degree, site.ranks);
  policy::check_offloaded(config.model.memory, shape.num_hidden_layers, config.model.policy().on_gpu());
  Plan plan{.memories = memories_of(config, shape, site, judge.items),
            .step = step_cost(config, shape, site, judge.modules),
            .advice = "",
            .judge = judge,
            .advice_for_all = ""};
  const bool on_gpu = config.model.policy().on_gpu();
  plan.apart = plan.memories.size() > (on_gpu ? 2 : 1);
  if (on_gpu) plan.advice = Advice(config, shape, site, judge.items).text();
  if (on_gpu && !judge.left_out.empty())
    plan.advice_for_all = Advice(config, shape, site, judge.items_of_all).text();
  return plan;
}

}  // namespace temper::trainer
