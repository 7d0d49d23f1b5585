#pragma once
// Runs that differ only in their seed are one group: its mean and spread are what is compared.

#include <string>
#include <vector>

#include "trainer/app/report/run_record.h"

namespace temper::trainer {

struct RunGroup {
  std::string
      label;  // what sets it apart from the other groups; of a single group what its runs' names share
  std::vector<const RunRecord*> runs;
};

// In the order of the groups' first runs. The runs must outlive the groups. What says where a run is and how
// many of the machine's cores it takes (run.name, run.dir, run.threads, env.lanes, …) sets nothing apart, nor
// does a value that names the run's own seed as "seed3" (a starting point of its own).
std::vector<RunGroup> group_runs(const std::vector<RunRecord>& runs);

// The options in which groups differ, each with its value in every group.
struct GroupDifference {
  std::string key;
  std::vector<std::string> values;
};
std::vector<GroupDifference> differences(const std::vector<RunGroup>& groups);

}  // namespace temper::trainer
