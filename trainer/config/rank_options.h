#pragma once
// The options of several ranks that work on one run.

#include <cstdint>

#include "base/options.h"

namespace temper::trainer {

struct RankOptions {
  double start_s = 60;      // for all ranks to meet
  double silence_s = 20;    // without a sign of life
  double timeout_s = 600;   // without progress while others wait
  int64_t check_every = 1;  // steps
  int64_t env = 0;          // of role env
  void visit(OptionVisitor& v);
};

}  // namespace temper::trainer
