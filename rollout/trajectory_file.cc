#include "rollout/trajectory_file.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/input/printable.h"
#include "rollout/trajectory_columns.h"

namespace temper::rollout {
namespace fs = std::filesystem;

std::string to_bytes(const std::vector<Trajectory>& trajectories) {
  return to_columns(pointers_to(trajectories), ColumnForm::kRanks);
}

std::vector<Trajectory> trajectories_from_bytes(std::string bytes) { return from_columns(std::move(bytes)); }

std::vector<const Trajectory*> pointers_to(const std::vector<Trajectory>& trajectories) {
  std::vector<const Trajectory*> pointers;
  for (const Trajectory& trajectory : trajectories) pointers.push_back(&trajectory);
  return pointers;
}

std::vector<const Trajectory*> pointers_to(const Batch& batch) {
  std::vector<const Trajectory*> pointers;
  for (const Group& group : batch.groups)
    for (const Trajectory& trajectory : group.samples) pointers.push_back(&trajectory);
  return pointers;
}

void keep(Batch batch, std::vector<Trajectory>& kept) {
  for (Group& group : batch.groups)
    for (Trajectory& trajectory : group.samples) kept.push_back(std::move(trajectory));
}

void write_trajectories(const fs::path& path, std::span<const Trajectory* const> trajectories,
                        bool compress) {
  write_file_atomic(path, to_columns(trajectories, compress ? ColumnForm::kZstd : ColumnForm::kRaw));
}

std::vector<Trajectory> read_trajectories(const fs::path& path) {
  try {
    return from_columns(read_file(path));
  } catch (const WorldError&) {
    throw;
  } catch (const std::exception& error) {
    throw ConfigError("{}: not trajectories: {}", path.string(), error.what());
  }
}

void check_ids(const Trajectory& trajectory, int64_t vocab_size) {
  for (const Segment& segment : trajectory.segments)
    for (const int32_t id : segment.ids)
      if (id < 0 || id >= vocab_size)
        throw ConfigError(
            "a trajectory of task {} holds token {}, but the tokenizer has {}: it is another one",
            printable(trajectory.task), id, vocab_size);
}

std::vector<std::string> recorded_trajectories(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  bool older = false;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == kTrajectoryFile) names.push_back(entry.path().stem().string());
    older = older || entry.path().extension() == ".jsonl";
  }
  if (error) throw ConfigError("{}: {}", folder.string(), error.message());
  if (names.empty() && older)
    throw ConfigError(
        "{}: its trajectories were written as JSON lines by an older program; this one reads {} files",
        folder.string(), kTrajectoryFile);
  std::ranges::sort(names);
  return names;
}

}  // namespace temper::rollout
