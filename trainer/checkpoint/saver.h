#pragma once
// Writes checkpoints while training continues. The data is copied, then a thread writes it to a temporary folder,
// syncs it, and finally renames the folder. A crash at any moment leaves the old checkpoints or the complete new one.
// A save that fails is removed and logged, and training continues.
//
// With several ranks each writes its share into the folder, which all ranks must see. When all shares are there, rank
// 0 adds the manifest, renames the folder, and removes checkpoints that are no longer kept.

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "policy/parameters/parameter_share.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/checkpoint/options.h"
#include "trainer/run/model.h"

namespace temper::trainer {

class CheckpointSaver {
 public:
  // The model must outlive the saver.
  CheckpointSaver(std::filesystem::path folder, CheckpointOptions options, Model& model);
  // Waits for this rank's part of a save in progress. With several ranks an unfinished save is given up.
  ~CheckpointSaver();
  CheckpointSaver(const CheckpointSaver&) = delete;
  CheckpointSaver& operator=(const CheckpointSaver&) = delete;

  // All ranks call these three together.
  // Waits for the previous save, then starts one. `manifest` is complete except for files and ranks;
  // `verdict_bytes` is this rank's.
  void save(Manifest manifest, uint64_t verdict_bytes);
  void look();    // checks whether the save in progress has failed on any rank
  void finish();  // waits for the save in progress

  int64_t failed() const { return failed_; }  // the number of saves that were lost

 private:
  std::filesystem::path beside() const;
  void make_beside() const;
  void write(uint64_t verdict_bytes);
  RankRecord write_share(uint64_t verdict_bytes);
  RankRecord wait_for_share(int rank);
  void commit(RankRecord own);
  void prune() const;
  bool agree_on_problems(bool ended);

  const std::filesystem::path folder_;
  const CheckpointOptions options_;
  Model& model_;
  policy::ShareCopy copy_;
  Manifest manifest_;  // manifest of the save in progress
  std::thread thread_;
  bool busy_ = false;
  int64_t failed_ = 0;
  std::string reason_;  // why the save in progress is lost

  std::mutex mutex_;
  std::condition_variable changed_;
  bool share_written_ = false;  // or it will not be
  std::string problem_;         // why this rank's part failed
  std::atomic<bool> given_up_ = false, all_written_ = false;
};

// The name of a rank's file: rank_00002.safetensors.
std::string share_name(int rank);

}  // namespace temper::trainer
