#pragma once
// Trajectories on the disk, and on their way to other ranks.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "rollout/trajectory.h"

namespace temper::rollout {

// A file of columns (docs/reference/trajectories.md), in place of one that may be there; `compress`: all of
// them by zstd. Errors: WorldError naming the path; on reading also ConfigError of a file that was broken
// off or is no such file.
inline constexpr const char* kTrajectoryFile = ".safetensors";
void write_trajectories(const std::filesystem::path& path, std::span<const Trajectory* const> trajectories,
                        bool compress = false);
std::vector<Trajectory> read_trajectories(const std::filesystem::path& path);
// Errors: ConfigError if an id is not below `vocab_size`, because the trajectory was written with another tokenizer.
void check_ids(const Trajectory& trajectory, int64_t vocab_size);
std::vector<const Trajectory*> pointers_to(const std::vector<Trajectory>& trajectories);
std::vector<const Trajectory*> pointers_to(const Batch& batch);
// Behind what is there.
void keep(Batch batch, std::vector<Trajectory>& kept);

// Names of the files in a run's folder of trajectories, sorted, without their extension. Errors: ConfigError
// where it holds those of an older program alone, which were JSON lines; where there is no such folder.
std::vector<std::string> recorded_trajectories(const std::filesystem::path& folder);

// Serialises trajectories for other ranks, exact to the bit.
std::string to_bytes(const std::vector<Trajectory>& trajectories);
std::vector<Trajectory> trajectories_from_bytes(std::string bytes);

}  // namespace temper::rollout
