#pragma once
// The whole job: a starting model, reinforcement learning, what it changed.

#include "env/judge/judge.h"
#include "trainer/run/run.h"

namespace temper::trainer {

// Goes on where the run was stopped. Errors: ConfigError, WorldError. Interrupted, it finishes the step,
// writes the checkpoint and returns.
void train(const RunConfig& config, env::Judge& judge, Run& run);

}  // namespace temper::trainer
