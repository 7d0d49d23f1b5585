#pragma once
// What a run will take, worked out before it starts.

#include <cstdint>
#include <string>
#include <vector>

#include "policy/communicator.h"
#include "trainer/config.h"

namespace temper {

struct MemoryItem {
  std::string what;
  int64_t bytes = 0;
};

// What lies in one memory: the machine's, or a GPU's.
struct MemoryPlan {
  std::string name;
  std::vector<MemoryItem> items;
  int64_t available_bytes = 0;  // the machine's: or our control group's, whichever is less
  int64_t needed_bytes() const;
  bool fits() const { return needed_bytes() <= available_bytes; }
};

struct Plan {
  std::vector<MemoryPlan> memories;
  // One step, at most:
  int64_t trajectories = 0, verdicts = 0;
  int64_t generated_tokens = 0, learned_tokens = 0;
  double flops = 0;
};

// Of one rank; the ranks of a machine share its memory.
Plan make_plan(const RunConfig& config, const ModelConfig& shape, const Communicator& ranks = alone());

// Errors: ConfigError naming the largest items and what to change.
void check_fits(const Plan& plan);

// "needs 1.2 GiB of memory, 8.0 GiB are available"
std::string summary(const MemoryPlan& memory);

std::string to_text(const MemoryPlan& memory);
std::string to_text(const Plan& plan);

// Bytes that can be taken before the machine, or our control group, has none.
int64_t available_memory_bytes();

}  // namespace temper
