#pragma once
// Numbers that belong to turns: rewards, returns, advantages.

#include <cstdint>
#include <vector>

namespace temper::trainer {

// A turn's plan tokens and code tokens may be credited differently; a recipe with one reward gives both the
// same.
struct TurnValue {
  double plan = 0, code = 0;
  bool kept = true;  // false: masked out of the loss, of baselines and of denominators
};

// One number for a turn whose plan and code earn apart: their mean.
inline double turn_total(const TurnValue& value) { return (value.plan + value.code) / 2; }

// How many tokens of an answer get each.
struct TurnTokens {
  int64_t plan = 0, code = 0;
};

using SampleValues = std::vector<TurnValue>;    // [turn]
using GroupValues = std::vector<SampleValues>;  // [sample][turn]
using TurnValues = std::vector<GroupValues>;    // [group][sample][turn], shaped like the Batch
using BatchTokens = std::vector<std::vector<std::vector<TurnTokens>>>;  // likewise

}  // namespace temper::trainer
