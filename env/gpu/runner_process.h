#pragma once
// The broker's side of a GPU runner: a trusted process with a context of its own, in which the device code of
// one candidate after another runs.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/machine/child_process.h"
#include "env/box/shared_memory.h"
#include "env/gpu/protocol.h"

namespace temper::env {

struct GpuRunnerOptions {
  std::string program;  // temper-gpu-runner
  int gpu = 0;          // among those that are visible, counted around
  int exchange = -1;    // descriptor
  int64_t exchange_bytes = 0;
  bool profiling = false;  // answers profile() alone
};

class GpuRunnerProcess {
 public:
  // Starts it and returns at once; it makes its context by itself. Errors: WorldError.
  explicit GpuRunnerProcess(const GpuRunnerOptions& options);

  // Waits until it computes. Errors: WorldError in the runner's words.
  const GpuFactsWire& wait_ready();

  // Each returns the runner's reply. Nothing is returned if the runner has died or `patience` has passed; what it had
  // loaded is then lost.
  std::optional<GpuRunnerReply> load(const std::vector<std::string>& cubins,
                                     const std::vector<std::string>& plans,
                                     std::chrono::nanoseconds patience);
  std::optional<GpuRunnerReply> call(GpuRunnerRequest request, std::chrono::nanoseconds patience);
  std::optional<GpuRunnerReply> repeat(GpuRunnerRequest request, std::chrono::nanoseconds patience);
  std::optional<GpuRunnerReply> unload(std::chrono::nanoseconds patience);
  // Profiles the loaded plan, and unloads it after the reply. Only for a profiler's runner, which loads one plan.
  std::optional<GpuRunnerReply> profile(GpuRunnerRequest request, std::chrono::nanoseconds patience);

  // A load that was started is finished by `answer`, or by an unload, which calls it.
  void start_load(const std::vector<std::string>& cubins, const std::vector<std::string>& plans);
  void start_unload();
  bool started() const { return started_; }
  std::optional<GpuRunnerReply> answer(std::chrono::nanoseconds patience);

  void kill() { process_.kill(); }  // returns when its context is gone
  pid_t pid() const { return process_.pid(); }

 private:
  void hand_over(const std::vector<std::string>& cubins, const std::vector<std::string>& plans,
                 GpuRunnerRequest& request);
  std::optional<GpuRunnerReply> exchange(GpuRunnerRequest& request, std::chrono::nanoseconds patience);
  void start(GpuRunnerRequest& request);

  Fd socket_;
  Mapping memory_;
  ChildProcess process_;
  GpuFactsWire gpu_;
  uint32_t sequence_ = 0;
  bool ready_ = false, started_ = false;
};

// A call of the task on each of the draws.
GpuRunnerRequest calls_of(const Task& task, const std::vector<GpuDraw>& draws);

// The most bytes of a candidate's cubins and plans.
inline constexpr int64_t kMaxCandidateBytes = int64_t(64) << 20;

// A runner at work and one that waits for the other's death with its context already made.
class GpuRunnerPool {
 public:
  explicit GpuRunnerPool(GpuRunnerOptions options) : options_(std::move(options)) {}
  // The one at work. Errors: WorldError if none can be started.
  GpuRunnerProcess& runner();
  bool working() const { return current_.has_value(); }
  void discard();                            // kills the one at work
  void count_candidate() { ++candidates_; }  // the process has finished one more candidate
  void prepare();                            // ends the one that has done many; starts what is missing

 private:
  GpuRunnerOptions options_;
  std::optional<GpuRunnerProcess> current_, spare_;
  int64_t candidates_ = 0;  // candidates that the running process has finished
};

}  // namespace temper::env
