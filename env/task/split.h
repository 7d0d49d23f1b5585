#pragma once
// The splits of tasks: which are there to learn from, and which show what was learned.

namespace temper::env {

struct Split {
  // Task files name these two.
  static constexpr const char *kTrain = "train", *kHeldOut = "heldout";
  // Tasks that the program varies from others, for practice.
  static constexpr const char* kGenerated = "traces";
};

}  // namespace temper::env
