#pragma once
// A run's directory and its life: what is recorded, when it stops, what is left behind.
//
//   config.yaml          the resolved config
//   metrics.jsonl        one line per step, and the TensorBoard event file beside it
//   trajectories/        step_000001.jsonl, …, eval_before.jsonl, eval_after.jsonl
//   checkpoints/         cold_start, final: Hugging Face directories
//   log/rank_N.txt       what the terminal showed, with times; on other ranks what it would have
//
// Rank 0 alone writes all but the logs.

#include <filesystem>
#include <memory>
#include <string>

#include "policy/communicator.h"
#include "rollout/trajectory.h"
#include "trainer/config.h"
#include "trainer/metrics.h"
#include "trainer/model.h"

namespace temper {

// Errors: ConfigError if the directory holds a run (unless run.overwrite) or something that is not one;
// WorldError if it cannot be written or its disk has no room for the checkpoints. Leaves nothing behind.
void check_run_directory(const RunConfig& config);

class Run {
 public:
  // Makes the directory, the run that was in it deleted where run.overwrite says so. Errors: as above.
  explicit Run(const RunConfig& config, Communicator& ranks = alone());
  // A run that recorded no step and no checkpoint leaves no directory.
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const std::filesystem::path& dir() const { return dir_; }
  std::filesystem::path trajectories(const std::string& name) const;  // file for append_trajectories

  Communicator& ranks() const { return ranks_; }

  // Whether step `step` (from 1) is to be taken: within run.steps and run.max_seconds of the first call, and
  // not interrupted. All ranks hear the same.
  bool goes_on(int64_t step);

  // Errors of all: WorldError naming the file.
  void record(int64_t step, const Metrics& metrics);
  void record(int64_t step, const Metrics& metrics, const Batch& batch);  // a step of reinforcement learning
  std::filesystem::path save_checkpoint(const std::string& name, const Model& model);

 private:
  void make(const RunConfig& config);

  RunOptions options_;
  Communicator& ranks_;
  std::filesystem::path dir_;
  std::unique_ptr<MetricsWriter> metrics_;
  bool recorded_ = false;
  double first_step_s_ = 0;
};

}  // namespace temper
