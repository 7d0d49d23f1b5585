#pragma once
// The whole job: a starting model, reinforcement learning, what it changed.

#include <string>
#include <vector>

#include "env/judge/judge.h"
#include "trainer/run/run.h"

namespace temper::trainer {

// Goes on where the run was stopped. `too_large`: problems that are not asked for, since the judge cannot hold them beside the
// policy; alike on all ranks. Errors: ConfigError, WorldError. Interrupted, it finishes the step, writes the checkpoint and
// returns.
void train(const RunConfig& config, env::Judge& judge, Run& run,
           const std::vector<std::string>& too_large = {});

}  // namespace temper::trainer
