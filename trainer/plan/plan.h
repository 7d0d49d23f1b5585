#pragma once
// What a run will take, worked out before it starts, from layouts alone: no GPU and no weights are touched.

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/config/config.h"
#include "trainer/plan/machine.h"

namespace temper {

struct MemoryItem {
  std::string what;
  int64_t bytes = 0;
};

// What lies in one memory: the machine's, or a GPU's.
struct MemoryPlan {
  std::string name;
  std::vector<MemoryItem> items;
  int64_t available_bytes = 0;  // the machine's: or our control group's, whichever is less; negative: unknown
  int64_t needed_bytes() const;
  bool fits() const { return available_bytes < 0 || needed_bytes() <= available_bytes; }
};

// One step, at most: every answer as long as it may be.
struct StepCost {
  int64_t trajectories = 0, verdicts = 0;
  int64_t generated_tokens = 0, learned_tokens = 0;
  double flops = 0;              // of generation, and of learning without what is computed again
  double sent_bytes = 0;         // by each rank to the others
  int64_t record_bytes = 0;      // trajectories on the disk
  int64_t checkpoint_bytes = 0;  // one checkpoint
  // Where the site names its GPU: estimates, by the shares of its roofs in plan.cc. Judging runs beside
  // generating.
  double generate_s = 0, judge_s = 0, learn_s = 0, send_s = 0;
};

struct Plan {
  std::vector<MemoryPlan> memories;
  StepCost step;
  std::string advice;  // what would make it fit; where it fits, what more would
};

// Of one rank; the ranks of a machine share its memory. `judged_on_gpu`: candidates run on the ranks' GPUs.
Plan make_plan(const RunConfig& config, const ModelConfig& shape, const PlanSite& site, bool judged_on_gpu);

// Whether candidates of these tasks run on GPUs.
bool judged_on_gpu(const std::vector<Task>& tasks);

// Why the run does not fit and what to change; empty: it fits.
std::string misfit(const Plan& plan);

// Errors: ConfigError with that and the plan.
void check_fits(const Plan& plan);

// "needs 1.2 GiB of memory, 8.0 GiB are available"
std::string summary(const MemoryPlan& memory);

std::string to_text(const MemoryPlan& memory);
std::string to_text(const Plan& plan);

}  // namespace temper
