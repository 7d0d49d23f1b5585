#pragma once
// Numbers that belong to turns: rewards, returns, advantages.

#include <vector>

namespace temper {

// A turn's plan tokens and code tokens may be credited differently; a recipe with one reward gives both the
// same.
struct TurnValue {
  double plan = 0, code = 0;
  bool kept = true;  // false: masked out of the loss, of baselines and of denominators
};

using SampleValues = std::vector<TurnValue>;    // [turn]
using GroupValues = std::vector<SampleValues>;  // [sample][turn]
using TurnValues = std::vector<GroupValues>;    // [group][sample][turn], shaped like the Batch

}  // namespace temper
