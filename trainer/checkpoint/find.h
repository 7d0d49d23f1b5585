#pragma once
// Finds the checkpoint from which a run can resume. A checkpoint is a folder step_000123, or cold_start_000123 in the
// middle of a cold start, with a manifest.json. Nothing in it is used before its digest has been compared.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "env/task/task.h"
#include "policy/ranks/communicator.h"
#include "trainer/checkpoint/manifest.h"

namespace temper::trainer {

struct Checkpoint {
  std::filesystem::path dir;
  Manifest manifest;
};

// The name of a checkpoint's folder: step_000123, or cold_start_000123 after 123 updates of the cold start.
std::string checkpoint_name(const Manifest& manifest);

// Under which name a checkpoint waits while another one takes its place, on file systems that cannot
// exchange.
std::filesystem::path replaced_name(const std::filesystem::path& dir);

// The checkpoints in the folder by name, newest first, without reading them. A checkpoint that was moved aside for a
// replacement which was never completed is moved back.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder);

// The same list, but nothing is moved back, because the run may still be active.
std::vector<std::filesystem::path> checkpoints_in(const std::filesystem::path& folder);

// Whether the folder's name is that of a checkpoint of a step, not of one within a cold start.
bool is_of_a_step(const std::filesystem::path& dir);

// Whether the checkpoint in `dir` was made later in the run than `than`, judging by its name.
bool is_later(const std::filesystem::path& dir, const Manifest& than);

// Reads a checkpoint's manifest. Errors: ConfigError saying why it cannot be used; WorldError if it cannot be read.
Checkpoint read_checkpoint(const std::filesystem::path& dir);

// Why the run cannot resume from it (other options, tasks, vocabulary, shapes); empty if it can.
std::string misfit(const Checkpoint& checkpoint, const RunConfig& config);

// Why a new run of this config cannot begin from it; empty if it can. Options and tasks may differ.
std::string misfit_of_fork(const Checkpoint& checkpoint, const RunConfig& config);

// The differences of a fork, "optimizer.lr is 1e-05, was 1e-06": of the tasks, and of all options except the run's
// directory and what it resumes from.
std::vector<std::string> changes_of_fork(const Checkpoint& checkpoint, const RunConfig& config);

// Compares this rank's part of the files with their digests. Errors: ConfigError naming the file.
void verify_files(const Checkpoint& checkpoint, const policy::Communicator& ranks = policy::alone());

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
                         policy::Communicator& ranks, Misfit misfit_of = misfit);

// The model's folder that a run of this config, with this checkpoint, began from.
std::filesystem::path starting_folder(const RunConfig& config, const std::filesystem::path& checkpoint);

// The digest of the given tasks. Generated tasks need none, because they follow from these and the config.
std::string digest_of(const std::vector<env::Task>& tasks);

}  // namespace temper::trainer
