#pragma once
// The contents of a run's directory, which process owns it, and which files a run that resumes keeps.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/process.h"
#include "trainer/checkpoint/find.h"

namespace temper::trainer {

// Rank 0's: its process has the directory until the lock goes, over containers and hosts that see it.
class RunLock {
 public:
  RunLock() = default;
  // Errors: ConfigError naming the process that has it; WorldError.
  explicit RunLock(const std::filesystem::path& dir);
  static void check(const std::filesystem::path& dir);  // the same errors; takes nothing

 private:
  static Fd take(const std::filesystem::path& dir);
  Fd file_;
};

// Distinguishes the starts of a run. Rank 0 of each new start writes a new epoch into run.epoch: a rising number, and a
// random name, since the folder may have been deleted and made again. A process of an earlier start that was suspended
// or cut off and wakes up sees the new epoch and stops writing.
class RunEpoch {
 public:
  RunEpoch() = default;
  // Raises it, when no process of an earlier start is in the middle of a write. Errors: WorldError.
  static RunEpoch begin(const std::filesystem::path& dir);
  // The epoch of a start that rank 0 has begun.
  RunEpoch(const std::filesystem::path& dir, std::string text)
      : file_(dir / "run.epoch"), text_(std::move(text)) {}

  const std::string& text() const { return text_; }  // "3 5f0c…", or "" without an epoch
  // For as long as the result lives no other start begins. Errors: WorldError where one has.
  std::shared_ptr<void> hold() const;

 private:
  std::filesystem::path file_;
  std::string text_;
};

// Advice to the user if a run's checkpoints cannot be used.
inline constexpr const char* kWayOut =
    "change back what differs, choose another run.name or run.dir, or pass run.overwrite=true to delete the "
    "run";

// The run in the directory has come to its end, which this config does not prolong: nothing is left to do.
class RunIsComplete : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// How a run begins.
struct RunStart {
  enum class Kind {
    kNew,         // nothing is there, or it is to be deleted
    kAgain,       // a run of this config was stopped before its first checkpoint: its verdicts are kept
    kCheckpoint,  // resumes from one of `checkpoints`
    kFork         // a new run begins from one of `checkpoints`, which is another run's
  };
  Kind kind = Kind::kNew;
  std::vector<std::filesystem::path> checkpoints;  // the newest first
};

// Decides how the run starts. Errors: ConfigError if the directory contains something that this run may neither delete
// nor resume, or if it cannot begin from checkpoint.fork; RunIsComplete.
RunStart find_start(const RunConfig& config);

// Files of the run that grow, with their sizes: metrics.jsonl and the event files.
std::map<std::string, uint64_t> growing_files(const std::filesystem::path& dir);

// The directory of the run to which the checkpoint belongs.
std::filesystem::path run_of(const std::filesystem::path& checkpoint);

// Removes what the run recorded after the checkpoint, and newer checkpoints. Of the refused checkpoints a damaged one
// is kept under another name.
void cut_back(const std::filesystem::path& dir, const Checkpoint& checkpoint,
              const std::vector<RefusedCheckpoint>& refused);
void clear_records(const std::filesystem::path& dir);  // all but verdicts and logs
void clear_all(const std::filesystem::path& dir);      // all but lock and epoch

// Writes fork.json, which says where a fork began: the checkpoint, its step and digest, and the options that changed.
void mark_fork(const std::filesystem::path& dir, const RunConfig& config, const Checkpoint& origin);

bool came_to_its_end(const std::filesystem::path& dir);
// The run came to its end after `step`.
void mark_finished(const std::filesystem::path& dir, int64_t step, double seconds);

// Journals of verdicts, one a rank.
std::filesystem::path journal_path(const std::filesystem::path& dir, int rank);
// Lets each of `ranks` ranks have the journals in `from` (by rank, of each the first bytes known): its own,
// or, where there were more or fewer ranks, all of them. Returns for each rank how many bytes are known.
std::vector<uint64_t> share_journals(const std::filesystem::path& dir, const std::filesystem::path& from,
                                     const std::vector<uint64_t>& known, int ranks);

}  // namespace temper::trainer
