#include "trainer/plan/step_cost.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "policy/keep.h"
#include "policy/layouts.h"
#include "policy/parameters/parameter_store.h"
#include "policy/parameters/shard_groups.h"
#include "trainer/checkpoint/room.h"

namespace temper::trainer {

using policy::ModelConfig;
using rollout::RolloutOptions;

namespace {

constexpr double kF32Bytes = 4, kBF16Bytes = 2;
constexpr double kStateBytes = 3 * kF32Bytes;  // master and two moments
// Shares of a GPU's roofs that an 8B shape reached on an H200: docs/measured/gpu.md.
constexpr double kDecodeShare = 0.60;  // of the memory's bandwidth
constexpr double kLearnShare = 0.50;   // of the arithmetic
constexpr double kPrefillShare = 0.70;
constexpr double kLinkShare = 0.75;
constexpr double kVerdictCoreSeconds = 0.55;
// Of modules of PyTorch on an H200: docs/measured/gpu.md, "Do modules of PyTorch get their verdicts?".
constexpr double kModuleGpu_s = 2.0;     // one module again and again: 30.7 a minute
constexpr double kProblemGpu_s = 5.0;    // more for the first of each problem: 8.5 a minute
constexpr double kExtensionCore_s = 28;  // compiling one in CUDA on a core
// A token on the disk: id, role, log-prob.
constexpr int64_t kTokenBytes = 9;

// The most tokens that a trajectory generates, including summaries.
int64_t generated_tokens(const RolloutOptions& r) {
  const int64_t answers = r.turns * r.max_response_tokens;
  if (r.context.appends()) return std::min(answers, r.max_context_tokens);
  return answers + (r.context.summarises() ? (r.turns - 1) * r.context.summary_tokens : 0);
}

// The most tokens in a trajectory's rows. Each turn has its own row unless context is only appended.
int64_t row_tokens(const RolloutOptions& r) {
  return r.max_context_tokens * (r.context.appends() ? 1 : r.turns);
}

double key_value_bytes(const ModelConfig& c) {
  return 2 * kBF16Bytes * double(c.num_hidden_layers * c.num_key_value_heads * c.head_dim);
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Each rank decodes its trajectories in as many rounds as its slots ask for, and each answer is as long as it
// may be. A step reads the weights, but for the rows of an embedding table, and half a context of keys and
// values a sequence.
double generate_s(const RunConfig& config, const ModelConfig& shape, const PlanSite& site) {
  const RolloutOptions& r = config.rollout;
  const GpuKind& gpu = *site.gpu;
  const int64_t mine = ceil_div(r.tasks_per_step * r.samples_per_task, site.ranks);
  const int64_t rows = std::min(mine, r.max_sequences), rounds = ceil_div(mine, rows);
  const int64_t answers = generated_tokens(r);
  const double table = shape.tie_word_embeddings ? 0 : double(shape.vocab_size * shape.hidden_size);
  const double bytes = kBF16Bytes * (double(shape.parameter_count()) - table) +
                       double(rows * r.max_context_tokens) / 2 * key_value_bytes(shape);
  const double flops = policy::train_flops_per_token(shape, r.max_context_tokens / 2) / 3;
  const double step_s =
      std::max(bytes / (kDecodeShare * gpu.bytes_per_s), double(rows) * flops / (kPrefillShare * gpu.flops));
  const double prompt_s =
      double(mine * std::max<int64_t>(0, row_tokens(r) - answers)) * flops / (kPrefillShare * gpu.flops);
  return double(rounds * answers) * step_s + prompt_s;
}

// The part of the data of a reduce-scatter or an all-gather over so many ranks that each rank sends.
double sent_part(int64_t ranks) { return double(ranks - 1) / double(ranks); }

// In a shard group gradients are summed after each pack, or once an update; then everyone gets the new weights. Under
// ZeRO-3 weights are gathered for each forward and each backward, and once a step for the rollout. Over replicas each
// share is summed once an update, by a reduce-scatter and an all-gather.
void add_sent_bytes(const RunConfig& config, const ModelConfig& shape, int64_t ranks, StepCost& step) {
  const auto parameters = double(shape.parameter_count());
  const int64_t learned = step.learned_tokens;
  const int64_t shard = policy::shard_group_size(config.model.memory.shard_degree, ranks);
  const int64_t pack = std::max(config.learner.micro_batch_tokens, config.rollout.max_context_tokens);
  const int64_t updates = config.learner.updates_per_batch * config.learner.epochs;
  const int64_t packs = std::max(updates, ceil_div(learned, ranks * pack));
  const int64_t stage = policy::zero_stage_for(shape, config.model.memory.zero_stage);
  const int64_t sums = stage == 1 ? updates : packs, gathers = stage == 3 ? 2 * packs + 1 : updates;
  step.shard_bytes =
      sent_part(shard) * parameters * (kF32Bytes * double(sums) + kBF16Bytes * double(gathers));
  step.replica_bytes =
      2 * sent_part(ranks / shard) * kF32Bytes * parameters / double(shard) * double(updates);
}

// Of a group, with so many ranks on each host. On one host its links carry all; else NCCL lays rings so that each of them
// sends through its own part of the network.
double group_speed(const GpuKind& gpu, bool one_host, int64_t ranks_of_host) {
  const double network = double(std::max<int64_t>(1, ranks_of_host)) * gpu.network_bytes_per_s;
  return kLinkShare * (one_host ? gpu.link_bytes_per_s : std::min(network, gpu.link_bytes_per_s));
}

double send_s(const PlanSite& site, int64_t shard, const StepCost& step) {
  const GpuKind& gpu = *site.gpu;
  return step.shard_bytes / group_speed(gpu, shard <= gpu.host_gpus, gpu.host_gpus) +
         step.replica_bytes / group_speed(gpu, site.ranks <= gpu.host_gpus, gpu.host_gpus / shard);
}

// Verdicts on modules: GPUs judge while cores compile.
double module_judge_s(const RunConfig& config, const PlanSite& site, int64_t verdicts) {
  const double gpus = double(config.env.gpus.empty() ? site.ranks : std::ssize(config.env.gpus));
  const double gpu_s =
      (double(verdicts) * kModuleGpu_s + double(config.rollout.tasks_per_step) * kProblemGpu_s) / gpus;
  const bool compiles = !config.rollout.context.prompt.in_triton();
  const double core_s = double(verdicts) * kExtensionCore_s / double(site.cores * site.ranks);
  return compiles ? std::max(gpu_s, core_s) : gpu_s;
}

// What forward and backward take, in parts of what they take where nothing is computed again.
double with_recomputation(const RunConfig& config, const ModelConfig& shape, double flops_per_token) {
  const auto blocks = shape.num_hidden_layers;
  const policy::KeepByBlock keep = policy::keep_for_backward(config.model.memory, blocks);
  const auto again = double(keep.count - keep.offloaded);
  if (keep.first == policy::Keep::kInputs) return 1 + again / double(3 * blocks);
  const double gate_up = 2 * 2 * double(shape.intermediate_size * shape.hidden_size);
  return 1 + again * gate_up / flops_per_token;
}

}  // namespace

StepCost step_cost(const RunConfig& config, const ModelConfig& shape, const PlanSite& site, bool modules) {
  const RolloutOptions& r = config.rollout;
  StepCost step;
  step.trajectories = r.tasks_per_step * r.samples_per_task;
  step.verdicts = step.trajectories * r.turns;
  step.generated_tokens = step.trajectories * generated_tokens(r);
  step.learned_tokens = step.trajectories * row_tokens(r) * config.learner.epochs;
  const double per_token = policy::train_flops_per_token(shape, r.max_context_tokens / 2);
  const double learning = per_token * double(step.learned_tokens);
  step.flops = learning + per_token / 3 * double(step.trajectories * row_tokens(r));
  add_sent_bytes(config, shape, site.ranks, step);
  const int64_t shard = policy::shard_group_size(config.model.memory.shard_degree, site.ranks);
  if (config.model.memory.offload_optimizer)
    step.offload_bytes = kStateBytes * double(shape.parameter_count()) / double(shard) *
                         double(config.learner.updates_per_batch * config.learner.epochs);
  step.record_bytes = kTokenBytes * step.trajectories * row_tokens(r);
  step.checkpoint_bytes = checkpoint_bytes(shape);
  if (!site.gpu) return step;
  step.generate_s = generate_s(config, shape, site);
  step.judge_s = modules ? module_judge_s(config, site, step.verdicts)
                         : double(step.verdicts) * kVerdictCoreSeconds / double(site.cores * site.ranks);
  step.judge_words = modules
                         ? fmt::format(
                               "a verdict on a module {:.1f} s of a GPU, the first of a problem {:.0f} s "
                               "more, an extension in "
                               "CUDA {:.0f} s of a core",
                               kModuleGpu_s, kProblemGpu_s, kExtensionCore_s)
                         : fmt::format("a verdict {:.2f} s of one of 16 cores a GPU", kVerdictCoreSeconds);
  step.judges_in_turn = modules && config.env.gpus.empty();
  step.learn_s = with_recomputation(config, shape, per_token) * learning /
                 (kLearnShare * site.gpu->flops * double(site.ranks));
  step.send_s = send_s(site, shard, step);
  step.offload_s = step.offload_bytes / (kLinkShare * site.gpu->host_link_bytes_per_s);
  return step;
}

std::string estimate_text(const StepCost& step) {
  const std::string offload =
      step.offload_bytes == 0
          ? ""
          : fmt::format(", {:.1f} s to move {:.0f} GB between each GPU and the host's memory and back",
                        step.offload_s, step.offload_bytes * 1e-9);
  return fmt::format(
      "  estimated: {:.0f} s to generate, {:.0f} s to judge {}, {:.0f} s to learn, {:.1f} s to send "
      "{:.0f} GB a "
      "GPU in its shard group and {:.0f} GB to replicas{}\n  (answers as long as they may be; decoding at "
      "{:.0f} % of the memory's bandwidth, learning at "
      "{:.0f} % of "
      "the arithmetic, sending at {:.0f} % of the links, {})\n",
      step.generate_s, step.judge_s, step.judges_in_turn ? "in turn with it" : "beside it", step.learn_s,
      step.send_s, step.shard_bytes * 1e-9, step.replica_bytes * 1e-9, offload, 100 * kDecodeShare,
      100 * kLearnShare, 100 * kLinkShare, step.judge_words);
}

}  // namespace temper::trainer
