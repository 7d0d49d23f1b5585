#include "trainer/plan.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <thread>

#include "base/error.h"
#include "policy/parameter_store.h"
#include "trainer/device.h"

namespace temper {
namespace {

constexpr int64_t kF32 = 4, kBF16 = 2;
constexpr int64_t kOracleBytes = 300ll << 20;   // libtorch and a task's tensors
constexpr int64_t kProcessBytes = 300ll << 20;  // libtorch and our own data

int64_t lanes(const JudgeOptions& env) {
  return env.lanes > 0 ? env.lanes : int64_t(std::max(1u, std::thread::hardware_concurrency()));
}

// What the backward adds to before it is summed over ranks: all, or the embedding, an untied head and one
// block.
int64_t unsummed_gradient_bytes(const ModelConfig& shape, int64_t zero_stage) {
  const int64_t parameters = shape.parameter_count();
  if (zero_stage_for(shape, zero_stage) == 1) return kF32 * parameters;
  const int64_t tables = shape.vocab_size * shape.hidden_size * (shape.tie_word_embeddings ? 1 : 2);
  return kF32 * (tables + (parameters - tables) / shape.num_hidden_layers);
}

// Gradients, master and moments are sharded.
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
                     unsummed_gradient_bytes(shape, config.model.zero_stage)});
  if (config.loss.kl_coefficient > 0) items.push_back({"reference weights", weight_bytes * parameters});
  return items;
}

int64_t largest_pack(const RunConfig& config) {
  const int64_t cold =
      config.model.path.empty() && config.cold_start.epochs > 0 ? config.cold_start.micro_batch_tokens : 0;
  return std::max({config.learner.micro_batch_tokens, cold, config.rollout.max_context_tokens});
}

std::string bytes_text(int64_t bytes) {
  const double mib = double(bytes) / (1 << 20);
  return mib < 1024 ? fmt::format("{:.1f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
}

int64_t first_number(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    if (!key.empty() && word != key) continue;
    if (!key.empty()) file >> word;
    return word.find_first_not_of("0123456789") == std::string::npos ? std::stoll(word) : -1;
  }
  return -1;
}

}  // namespace

int64_t available_memory_bytes() {
  int64_t available = std::numeric_limits<int64_t>::max();
  if (const int64_t kib = first_number("/proc/meminfo", "MemAvailable:"); kib >= 0) available = kib << 10;
  const int64_t limit = first_number("/sys/fs/cgroup/memory.max", "");
  const int64_t used = first_number("/sys/fs/cgroup/memory.current", "");
  if (limit >= 0 && used >= 0) available = std::min(available, limit - used);
  return available;
}

int64_t MemoryPlan::needed_bytes() const {
  int64_t sum = 0;
  for (const MemoryItem& item : items) sum += item.bytes;
  return sum;
}

Plan make_plan(const RunConfig& config, const ModelConfig& shape, const Communicator& ranks) {
  const RolloutOptions& r = config.rollout;
  const PolicyOptions options = config.model.policy();
  Plan plan;
  plan.trajectories = r.tasks_per_step * r.samples_per_task;
  plan.verdicts = plan.trajectories * r.turns;
  plan.generated_tokens = plan.verdicts * r.max_response_tokens;
  plan.learned_tokens = plan.trajectories * r.max_context_tokens * config.learner.epochs;

  MemoryPlan host{
      .name = "memory", .items = {}, .available_bytes = available_memory_bytes() / ranks.local_size()},
      gpu;
  if (options.on_gpu())
    gpu = {.name = "GPU memory", .items = {}, .available_bytes = device_free_bytes(options)};
  MemoryPlan& device = options.on_gpu() ? gpu : host;
  device.items = parameter_memory(config, shape, ranks.size());
  const int64_t pack = largest_pack(config);
  // Asking a policy needs one: only where its parameters fit.
  if (device.fits()) {
    const Policy policy(shape, options);
    device.items.push_back(
        {fmt::format("activations of {} tokens", pack), policy.activation_bytes(pack, pack)});
    plan.flops = policy.train_flops_per_token(r.max_context_tokens) *
                 (double(plan.learned_tokens) + double(plan.trajectories * r.max_context_tokens) / 3);
  }
  device.items.push_back({fmt::format("keys and values of {} sequences", r.max_sequences),
                          KvCache::bytes(shape, options, r.max_sequences, r.max_context_tokens)});
  host.items.push_back({fmt::format("judge, {} lanes", lanes(config.env)),
                        lanes(config.env) * ((config.env.memory_mb << 20) + kOracleBytes)});
  host.items.push_back({"checkpoint while it is written", 3 * kF32 * shape.parameter_count() / ranks.size()});
  host.items.push_back({"program", kProcessBytes});
  if (options.on_gpu())
    gpu.items.push_back({"attention's backward and libraries", device_library_bytes(options)});
  plan.memories = {host};
  if (options.on_gpu()) plan.memories.push_back(gpu);
  return plan;
}

void check_fits(const Plan& plan) {
  for (const MemoryPlan& memory : plan.memories)
    if (!memory.fits())
      throw ConfigError(
          "the run needs {} of {} and {} are available:\n{}lower rollout.max_sequences, "
          "learner.micro_batch_tokens, cold_start.micro_batch_tokens or env.lanes, set model.recompute=true, "
          "or "
          "choose a smaller model",
          bytes_text(memory.needed_bytes()), memory.name, bytes_text(memory.available_bytes), to_text(plan));
}

std::string summary(const MemoryPlan& memory) {
  return fmt::format("needs {} of {}, {} are available", bytes_text(memory.needed_bytes()), memory.name,
                     bytes_text(memory.available_bytes));
}

std::string to_text(const MemoryPlan& memory) {
  std::string text = memory.name + "\n";
  const auto line = [&](const std::string& what, int64_t bytes) {
    text += fmt::format("  {:<36}{:>12}\n", what, bytes_text(bytes));
  };
  for (const MemoryItem& item : memory.items) line(item.what, item.bytes);
  line("needed", memory.needed_bytes());
  line("available", memory.available_bytes);
  if (memory.fits()) line("headroom", memory.available_bytes - memory.needed_bytes());
  return text;
}

std::string to_text(const Plan& plan) {
  std::string text;
  for (const MemoryPlan& memory : plan.memories) text += to_text(memory);
  text += fmt::format(
      "a step, at most\n  {} trajectories, {} verdicts, {} generated tokens, {} learned tokens, {:.3g} "
      "TFLOP\n",
      plan.trajectories, plan.verdicts, plan.generated_tokens, plan.learned_tokens, plan.flops * 1e-12);
  return text;
}

}  // namespace temper
