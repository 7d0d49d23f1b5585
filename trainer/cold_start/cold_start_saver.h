#pragma once
// Checkpoints in the middle of a cold start, in folders cold_start_000123 beside those of steps.

#include <string>

#include "env/judge/judge.h"
#include "trainer/checkpoint/saver.h"
#include "trainer/cold_start/cold_start.h"
#include "trainer/run/run.h"

namespace temper::trainer {

// The state of the cold start at the checkpoint, for run_cold_start.
ColdStartStats place_of(const Checkpoint& checkpoint);

// All references must outlive it. `examples` is the digest of the rows; a run with other rows cannot resume from these
// checkpoints.
class ColdStartSaver {
 public:
  ColdStartSaver(const RunConfig& config, Model& model, const env::Judge& judge, Run& run,
                 std::string examples);

  // All of these are called on all ranks.
  void update(const ColdStartStats& now);  // saves where it is due
  // Saves unless that is done, and waits. False: this place was not saved.
  bool interrupt(const ColdStartStats& now);
  void finish() { saver_.finish(); }  // waits until what is being saved is on the disk

 private:
  bool is_due(const ColdStartStats& now);
  void save(const ColdStartStats& now);

  const RunConfig& config_;
  Model& model_;
  Run& run_;
  CheckpointSaver saver_;
  const std::string tasks_, examples_;  // digests
  int64_t saved_updates_ = -1;
  double saved_s_;
};

}  // namespace temper::trainer
