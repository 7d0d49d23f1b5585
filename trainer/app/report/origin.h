#pragma once
// When a run was made, from which model, by which program and on which machine, as far as its files say.

#include <string>
#include <vector>

#include "trainer/app/report/timeline.h"

namespace temper::trainer {

struct Fact {
  std::string name, value;
};

// In the order in which people ask. From the event files, the first lines of the log, and run.json or the
// first line of the metrics, which hold what trainer/run/provenance.h says of a start; what none of them says is
// left out.
std::vector<Fact> facts_of(const RunRecord& run, const Timeline& timeline);

}  // namespace temper::trainer
