#pragma once
// The workers to which a judge sends its candidates: lanes of this machine, or judges in other processes.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "env/judge/judge.h"

namespace temper::env {

struct WorkOrder {
  uint64_t id = 0;
  uint32_t task = 0;  // its number in the list
  std::string source;
};

struct WorkDone {
  uint64_t id;
  Verdict verdict;
  size_t machine = 0;  // which of machines() judged it
};

class JudgeBackend {
 public:
  virtual ~JudgeBackend() = default;
  virtual std::string sandbox_level() const = 0;
  // Identifies compiler, flags and hardware that judge candidates of that language.
  virtual std::string machine(const std::string& language) const = 0;
  // All the machines that may judge candidates of that language. Each is part of the digest of its verdicts.
  virtual std::vector<std::string> machines(const std::string& language) const { return {machine(language)}; }
  virtual std::vector<std::string> notes() const = 0;  // what the user should know, a line each
  virtual int64_t width() const = 0;                   // candidates worked on at a time
  virtual void submit(WorkOrder order) = 0;
  // Waits until `until_s` on the clock of now_s, or until something happens, and returns what is done. Neither
  // this nor submit blocks on a worker that does not read or has sent part of a message. Errors: WorldError if no
  // worker is left.
  virtual std::vector<WorkDone> wait(double until_s) = 0;
  virtual int64_t restarts() const = 0;
  // How many host halves of CUDA candidates were compiled on this machine, and how many came from the cache.
  virtual HostHalfCounts host_halves() const { return {}; }
  virtual bool judges_on(int64_t /*gpu*/) const { return false; }  // a lane of this process
  // See Judge::hold_own_gpu. Returns null if no lane of this process is on that GPU, or after `give_up()`.
  virtual std::shared_ptr<void> hold_gpu(int64_t, const std::function<bool()>&) { return nullptr; }
};

// Errors: as Judge.
std::unique_ptr<JudgeBackend> make_lanes(const JudgeOptions& options, const std::vector<Task>& tasks);
// The judge servers at options.servers. Errors: WorldError naming one that cannot be reached.
std::unique_ptr<JudgeBackend> make_remote_backend(const JudgeOptions& options,
                                                  const std::vector<Task>& tasks);

}  // namespace temper::env
