#pragma once
// A run's directory and its life cycle: what is recorded, when the run stops, what it leaves behind.
//
//   config.yaml          the resolved config
//   prompt/              the files of rollout.prompt as they were, which config.yaml names
//   run.json             what the newest start was made by, provenance.h
//   metrics.jsonl        what the first start was made by; then one line per step. A TensorBoard event file
//                        lies beside it.
//   trajectories/        step_000001.safetensors, …, eval_before.safetensors, eval_after.safetensors
//   checkpoints/         step_000010, cold_start_000500, …: what the run can resume from;
//                        cold_start, final: Hugging Face directories
//   verdicts/            the journal of each rank, env/verdict/verdict_journal.h
//   log/rank_N.txt       the terminal's output with times; for ranks other than 0, what they would have printed
//   run.lock, run.epoch  which process owns the directory
//   fork.json            only in a fork: the checkpoint it began from, and the options that were changed
//   finished.json        exists once the run has come to its end
//
// Rank 0 alone writes all but the logs, the journals and the shares of checkpoints.

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "policy/ranks/communicator.h"
#include "rollout/trajectory.h"
#include "trainer/config/config.h"
#include "trainer/run/metrics.h"
#include "trainer/run/model.h"
#include "trainer/run/run_directory.h"

namespace temper::trainer {

// Finds out how the run would begin, without leaving files behind. Errors: ConfigError if the directory is in use, or
// contains something else, or a run that may neither be deleted nor resumed; WorldError if it cannot be written or its
// disk has no room for the checkpoints; RunIsComplete.
RunStart check_run_directory(const RunConfig& config);

// "a new run from …, after step 120", and a line for each option that differs from the origin's.
std::vector<std::string> fork_lines(const RunConfig& config, const Checkpoint& origin);

class Run {
 public:
  // Makes the directory, after deleting the run in it if run.overwrite is set, or resumes the run that was stopped
  // there. Errors: as above.
  explicit Run(const RunConfig& config, policy::Communicator& ranks = policy::alone());
  // A new run that recorded no step and no checkpoint leaves no directory; one that failed keeps its
  // verdicts.
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const std::filesystem::path& dir() const { return dir_; }

  policy::Communicator& ranks() const { return ranks_; }
  const nlohmann::json& start() const { return start_; }  // what made it, provenance.h

  // Logs where the run was stopped, what it resumes from, and which checkpoints it does not use.
  void say_start() const;

  // The checkpoint from which the run resumes; null for a run that begins.
  const Checkpoint* checkpoint() const { return checkpoint_ ? &*checkpoint_ : nullptr; }
  // Whether that checkpoint belongs to another run, from which only weights, moments and steps are taken.
  bool forked() const { return forked_; }
  // Whether all ranks see the directory, which is necessary for checkpoints.
  bool shared() const { return shared_; }

  // This rank's journal, and how much of it came before the checkpoint.
  std::filesystem::path journal() const { return journal_path(dir_, ranks_.rank()); }
  uint64_t known_verdict_bytes() const { return known_verdict_bytes_; }

  // Whether step `step` (from 1) is to be done: it is within run.steps, within run.max_seconds of the first call, and
  // the run is not interrupted. All ranks get the same answer.
  bool goes_on(int64_t step);
  double seconds() const;  // time since that first call, including the time before a stop

  // Errors of all: WorldError naming the file.
  void record(int64_t step, const Metrics& metrics);
  void record(int64_t step, const Metrics& metrics,
              const rollout::Batch& batch);  // a step of reinforcement learning
  // trajectories/NAME.safetensors; rank 0 alone writes.
  void keep(const std::string& name, std::span<const rollout::Trajectory* const> trajectories);
  // Records that a checkpoint exists or is being written, so that the directory is kept.
  void has_checkpoint() { recorded_ = true; }
  std::filesystem::path save_checkpoint(const std::string& name, const Model& model);
  void finish(int64_t step);  // the run has come to its end

  // The value last recorded under this name; NaN if there is none.
  double last_value(const std::string& metric) const;

 private:
  void make(const RunConfig& config, RunStart::Kind kind);
  void choose(const RunConfig& config, const RunStart& start);
  void keep_config(RunConfig config) const;
  void note_refused(const std::vector<RefusedCheckpoint>& refused);
  void begin_fork(const RunConfig& config, const std::vector<RefusedCheckpoint>& refused);
  void open_journals();
  void own();

  RunOptions options_;
  nlohmann::json start_;
  policy::Communicator& ranks_;
  std::filesystem::path dir_;
  RunLock lock_;
  RunEpoch epoch_;
  std::shared_ptr<void> guarding_;  // the directory, for as long as it lives
  std::unique_ptr<MetricsWriter> metrics_;
  Metrics last_;
  std::optional<Checkpoint> checkpoint_;
  std::vector<std::string> said_at_start_;
  uint64_t known_verdict_bytes_ = 0;
  bool recorded_ = false, shared_ = true, forked_ = false;
  double first_step_s_ = 0;
};

}  // namespace temper::trainer
