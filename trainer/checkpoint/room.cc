#include "trainer/checkpoint/room.h"

#include <algorithm>

#include "trainer/config/config.h"

namespace temper::trainer {
namespace {

// How many checkpoints the run writes; after a time counts as after each step.
int64_t written(const RunConfig& config) {
  const CheckpointOptions& options = config.checkpoint;
  const int64_t steps = config.run.steps, every = options.every_s > 0 ? 1 : options.every;
  const int64_t first = config.has_cold_start() ? 1 : 0;  // after the cold start
  if (every == 0) return first + 1;
  return first + steps / every + (steps % every != 0);
}

}  // namespace

int64_t checkpoint_bytes(const policy::ModelConfig& shape) { return 3 * 4 * shape.parameter_count(); }

uint64_t room_for_checkpoints(const RunConfig& config, const policy::ModelConfig& shape, int64_t present) {
  const int64_t kept = config.checkpoint.keep + (config.checkpoint.best.empty() ? 0 : 1);
  const int64_t most = std::min(written(config), kept + 1);
  const int64_t more = std::max<int64_t>(most - present, 1);
  const bool cold_start = config.has_cold_start() && present == 0;
  const int64_t exported = cold_start ? 2 : 1;  // cold_start and final
  const int64_t weight_bytes = config.model.policy().on_gpu() ? 2 : 4;
  return uint64_t(more * checkpoint_bytes(shape) + exported * weight_bytes * shape.parameter_count());
}

}  // namespace temper::trainer
