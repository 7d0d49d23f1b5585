#pragma once
// Which checkpoint a run can go on from. A checkpoint is a folder step_000123, or
// cold_start_000123 in the middle of a cold start, with manifest.json; nothing of it is believed before its
// digest has been compared.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "env/task/task.h"
#include "policy/ranks/communicator.h"
#include "trainer/checkpoint/manifest.h"

namespace temper {

struct Checkpoint {
  std::filesystem::path dir;
  Manifest manifest;
};

// step_000123, or cold_start_000123 after so many updates of it.
std::string checkpoint_name(const Manifest& manifest);

// Under which name a checkpoint waits while another one takes its place, on file systems that cannot
// exchange.
std::filesystem::path replaced_name(const std::filesystem::path& dir);

// Those in the folder by name, the newest first; nothing of them is read. One whose replacement never came is
// put back.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder);

// The same, and nothing is put back: of a run that may be going on.
std::vector<std::filesystem::path> checkpoints_in(const std::filesystem::path& folder);

// step_000123, not within a cold start. By its name.
bool is_of_a_step(const std::filesystem::path& dir);

// Whether the checkpoint in `dir` is of a later moment of the run. By its name.
bool is_later(const std::filesystem::path& dir, const Manifest& than);

// Its manifest. Errors: ConfigError saying why it cannot be used; WorldError if it cannot be read.
Checkpoint read_checkpoint(const std::filesystem::path& dir);

// Why the run cannot go on from it (other options, tasks, vocabulary, shapes); empty: it can.
std::string misfit(const Checkpoint& checkpoint, const RunConfig& config);

// Why a new run of this config cannot begin from it; empty: it can, with other options and other tasks.
std::string misfit_of_fork(const Checkpoint& checkpoint, const RunConfig& config);

// "optimizer.lr is 1e-05, was 1e-06", …: of every option but where the run lies and what it goes on from, and
// of the tasks.
std::vector<std::string> changes_of_fork(const Checkpoint& checkpoint, const RunConfig& config);

// Compares this rank's part of the files with their digests. Errors: ConfigError naming the file.
void verify_files(const Checkpoint& checkpoint, const Communicator& ranks = alone());

struct RefusedCheckpoint {
  std::filesystem::path dir;
  std::string reason;
};
struct Choice {
  std::optional<Checkpoint> checkpoint;
  std::vector<RefusedCheckpoint> refused;
  std::string reasons() const;  // "step_000006: …; step_000003: …"
};

// The first of rank 0's `dirs` that is whole and fits, checked by all ranks together.
using Misfit = std::string (*)(const Checkpoint& checkpoint, const RunConfig& config);
Choice choose_checkpoint(const std::vector<std::filesystem::path>& dirs, const RunConfig& config,
                         Communicator& ranks, Misfit misfit_of = misfit);

// The model's folder that a run of this config, with this checkpoint, began from.
std::filesystem::path starting_folder(const RunConfig& config, const std::filesystem::path& checkpoint);

// Of those that were given; what is varied from them follows from the config.
std::string digest_of(const std::vector<Task>& tasks);

}  // namespace temper
