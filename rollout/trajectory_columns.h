#pragma once
// Trajectories as columns (rollout/columns.h; docs/reference/trajectories.md lists them). Four tables:
// trajectories, the segments of each, the tokens of each segment, the turns of each trajectory.

#include <span>
#include <string>
#include <vector>

#include "rollout/trajectory.h"

namespace temper::rollout {

// kRaw: numbers as they lie in memory, the verdicts as a zstd frame of JSON lines. kZstd: every column as a
// frame. kRanks: raw, the verdicts as CBOR, which keeps bytes that are no text.
enum class ColumnForm : uint8_t { kRaw, kZstd, kRanks };
std::string to_columns(std::span<const Trajectory* const> trajectories, ColumnForm form);

// Errors: ConfigError saying what is wrong; nothing is believed before it is checked.
std::vector<Trajectory> from_columns(std::string bytes);

}  // namespace temper::rollout
