#pragma once
// When checkpoints are written, which are kept, and from which one a run resumes.

#include <cstdint>
#include <string>

#include "base/options.h"

namespace temper::trainer {

struct CheckpointOptions {
  int64_t every = 10;           // steps; 0 saves only at the end and when interrupted
  double every_s = 0;           // seconds; 0 for no limit of time
  int64_t keep = 2;             // number of newest checkpoints that are kept
  std::string best = "";        // and the one with the highest value of this metric
  std::string resume = "auto";  // or never, or a checkpoint's folder
  std::string fork = "";        // a run or a checkpoint that a new run begins from
  void visit(OptionVisitor& v);
};

}  // namespace temper::trainer
