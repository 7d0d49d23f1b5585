#pragma once
// From rewards per turn to returns per turn.

#include <string>

#include "base/options.h"
#include "trainer/algorithm/turn_values.h"

namespace temper::trainer {

struct ReturnOptions {
  std::string name = "sum";
  double discount = 1;  // γ
  void visit(OptionVisitor& v);
};

// The returns of one sample. A return that depends on a reward that is not kept is not kept either: leaving
// the missing reward out would count it as zero.
SampleValues sample_returns(const ReturnOptions& options, const SampleValues& rewards);

TurnValues compute_returns(const ReturnOptions& options, const TurnValues& rewards);

}  // namespace temper::trainer
