#pragma once
// The disk space that a run's checkpoints and exported policies take.

#include <cstdint>

#include "policy/model_config.h"

namespace temper::trainer {

struct RunConfig;

// Bytes of one checkpoint: f32 master weights and two moments, 12 bytes per parameter.
int64_t checkpoint_bytes(const policy::ModelConfig& shape);

// The most space that they take at once, by the run's settings: an old checkpoint stays until the new one is
// complete. `present` is the number of checkpoints that exist and already reduce the disk's free space.
uint64_t room_for_checkpoints(const RunConfig& config, const policy::ModelConfig& shape, int64_t present);

}  // namespace temper::trainer
