#pragma once
// The memory and time that a run will take, computed before it starts from layouts alone, without a GPU or weights.

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/config/config.h"
#include "trainer/plan/machine.h"

namespace temper::trainer {

struct MemoryItem {
  std::string what;
  int64_t bytes = 0;
};

// Items for which there is advice of their own.
inline constexpr const char* kOffloadedState = "master weights and moments";
inline constexpr const char* kOffloadedActivations = "activations that blocks offload";

// The contents of one memory, the machine's or a GPU's; where weights are sharded in an update, at one time.
struct MemoryPlan {
  std::string name;
  std::vector<MemoryItem> items;
  int64_t available_bytes = 0;  // for the machine, at most the control group's limit; negative if unknown
  int64_t needed_bytes() const;
  bool fits() const { return available_bytes < 0 || needed_bytes() <= available_bytes; }
};

// A problem in PyTorch that does not fit beside the policy, and what the judge needs for it at least.
struct TooLarge {
  std::string task;
  int64_t bytes = 0;
};

// What the judge takes of a rank's GPU.
struct JudgePlan {
  std::vector<MemoryItem> items = {};  // of the largest problem that fits; empty where it judges elsewhere
  bool modules = false;                // candidates are modules of PyTorch; the rest is of those alone
  int64_t problems = 0;
  int64_t room_bytes = 0;                     // beside the policy; negative where that does not fit alone
  std::vector<TooLarge> left_out = {};        // largest first
  std::vector<MemoryItem> items_of_all = {};  // of the largest problem of all
};

// One step, at most: every answer as long as it may be.
struct StepCost {
  int64_t trajectories = 0, verdicts = 0;
  int64_t generated_tokens = 0, learned_tokens = 0;
  double flops = 0;              // operations of generation, and of learning without recomputation
  double shard_bytes = 0;        // sent by each rank in its shard group
  double replica_bytes = 0;      // and to the replicas of its share
  double offload_bytes = 0;      // from the host's memory to each GPU, and as many back
  int64_t record_bytes = 0;      // trajectories on the disk
  int64_t checkpoint_bytes = 0;  // one checkpoint
  // Estimates, if the site names its GPU, by the shares of its peak rates in step_cost.cc. Judging overlaps generation, unless
  // both are on one GPU.
  double generate_s = 0, judge_s = 0, learn_s = 0, send_s = 0, offload_s = 0;
  std::string judge_words = {};  // what judge_s is estimated from
  bool judges_in_turn = false;   // on the policy's own GPU
};

struct Plan {
  std::vector<MemoryPlan> memories;
  bool apart = false;  // phases of rollout and update, each with a plan of its memory
  StepCost step;
  std::string advice;  // what would make it fit; where it fits, what more would
  JudgePlan judge;
  std::string advice_for_all;  // what would leave no problem out; empty where none is
};

// The plan of one rank; the ranks of a machine share its memory.
// Errors: ConfigError where model.shard_degree does not divide the site's ranks.
Plan make_plan(const RunConfig& config, const policy::ModelConfig& shape, const PlanSite& site,
               const JudgePlan& judge);

// What the policy leaves of its GPU, with its phases as they suit the judge; negative where it does not fit itself.
int64_t room_beside_policy(const RunConfig& config, const policy::ModelConfig& shape, const PlanSite& site);

// What the tensors of an update take of the policy's device, where packs have learner.micro_batch_tokens tokens. The benchmark
// of updates prints this beside the most memory that it saw in use. Neither counts what attention and libraries take themselves.
MemoryPlan update_memory(const RunConfig& config, const policy::ModelConfig& shape, const PlanSite& site);

// No items where candidates of these tasks run on no GPU of the policy's. For modules of PyTorch they are what the largest
// problem takes that fits beside the policy. Its shapes are told by running its source on a core.
JudgePlan judge_plan(const RunConfig& config, const policy::ModelConfig& shape,
                     const std::vector<env::Task>& tasks, const PlanSite& site);

std::string bytes_text(int64_t bytes);  // "1.2 GiB"

// "left out: 22 of 250 problems …"; empty if none is.
std::string left_out_text(const Plan& plan);

// Why the run does not fit and what to change; empty if it fits.
std::string misfit(const Plan& plan);

// Errors: ConfigError with that and the plan.
void check_fits(const Plan& plan);

// "needs 1.2 GiB of memory, 8.0 GiB are available"
std::string summary(const MemoryPlan& memory);

std::string to_text(const MemoryPlan& memory);
std::string to_text(const Plan& plan);

}  // namespace temper::trainer
