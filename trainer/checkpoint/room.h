#pragma once
// What a run's checkpoints and exported policies take on the disk.

#include <cstdint>

#include "policy/model_config.h"

namespace temper {

struct RunConfig;

// Of one checkpoint: f32 master weights and two moments, 12 bytes a parameter.
int64_t checkpoint_bytes(const ModelConfig& shape);

// At the most that lies there at once, by the run's settings alone: an old checkpoint stays until the new one
// is whole. `present`: checkpoints that lie there already and are counted in the disk's free bytes no more.
uint64_t room_for_checkpoints(const RunConfig& config, const ModelConfig& shape, int64_t present);

}  // namespace temper
