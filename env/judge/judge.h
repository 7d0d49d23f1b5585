#pragma once
// The environment as the rest of the program sees it: candidates in, verdicts out, asynchronously.
//
// A judge owns a pool of brokers (env/broker), one per lane. A broker judges one candidate at a time in a
// compile box, a runner and an oracle of its own; untrusted code never runs in this process. Candidates for
// GPUs are compiled and planned by one of those lanes and then wait for the lane of a GPU. Alternatively, other
// processes judge for this one (judge_server.h). Verdicts are cached by digest of (source, task, toolchain,
// machine).

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/options.h"
#include "env/task/task.h"
#include "env/verdict/verdict.h"

namespace temper::env {

struct JudgeOptions {
  std::string judge = "full";
  int64_t lanes = 0;  // 0: one per core
  std::string min_sandbox = "S2";
  double compile_timeout_s = 10, run_timeout_s = 5;
  // Of candidates that are modules, in place of run_timeout_s: of all, and of a step in which one may compile
  // (env/kernelbench/module_limits.h).
  double module_timeout_s = 180, module_warm_up_s = 30;
  int64_t memory_mb = 1024;
  int64_t min_pairs = 7, max_pairs = 21;
  bool compare_refused = false;  // whether modules that are refused for imports are run all the same
  double compared =
      0.1;  // share of answers to training tasks that get a comparable verdict, if they are modules
  bool believe_shares = false;  // whether profile_share of modules is paid, which is their own word
  int64_t module_lanes = 0;     // lanes of modules on a GPU; 0: one for two cores, up to kMostModuleLanes
  bool gpu_far_inputs = true;   // whether a GPU's inputs depart from plain ones (draw_forms.h)
  double again = 0;             // share of PASSes that are judged once more
  std::string cache = "";       // a file (verdict_cache.h); verdicts stay in memory if it is empty
  std::string compiled_baselines = "";  // a file (compiled_baselines.h), or empty
  std::vector<int64_t> gpus = {};       // empty: first_gpu
  std::string python = "";              // of candidates in Triton; empty: the first with torch and triton
  std::string huggingface = "";  // a cache of Hugging Face for problems in PyTorch (hub_cache.h), or empty
  // The members below are set by the program and are not options of a run.
  // Lane i runs on core first_lane + i, so that several judges of one machine use different cores. first_gpu is
  // the GPU that is used if `gpus` is empty.
  int64_t first_lane = 0;
  int64_t first_gpu = 0;
  int64_t module_bytes = 0;  // of a GPU's memory, for all lanes of modules together; 0: nearly all
  std::vector<std::string> servers =
      {};                   // addresses of judge servers (judge_server.h), which then do all judging
  std::string broker = "";  // program of a lane; empty: temper-broker beside this program
  double patience_s = 60;   // a lane counts as hung if a candidate takes this much longer than its timeouts
  double restart_s = 1;     // the pause after a lane's failed start; it doubles with each further failure
  void visit(OptionVisitor& v);
};

inline constexpr int64_t kMostModuleLanes = 4;
// How many lanes judge modules on each GPU, where there are `gpus` of them: env.module_lanes, or what suits the cores.
int64_t module_lanes(const JudgeOptions& options, int64_t gpus);

using Ticket = uint64_t;

struct Judged {
  Ticket ticket;
  Verdict verdict;
};

// How many candidates' host halves were compiled, and how many were known from others (languages/host_half.h).
struct HostHalfCounts {
  int64_t made = 0, known = 0;
};

struct JudgeStats {  // since construction
  int64_t submitted = 0, cached = 0, infra = 0, restarts = 0;
  int64_t again = 0, overturned = 0;  // PASSes that were judged once more, and those that fell
  double compile_s = 0, run_s = 0;    // summed over lanes
  HostHalfCounts host_halves = {};    // none where others judge
};

class JudgeBackend;

class Judge {
 public:
  // Starts the lanes and proves the sandbox.
  // Errors: ConfigError if a task's reference does not compile; WorldError if no compiler is found or the
  // sandbox level that can be reached is below the one asked for, saying what is missing.
  Judge(JudgeOptions options, std::vector<Task> tasks);
  // A judge whose candidates are judged by `workers`.
  Judge(JudgeOptions options, std::vector<Task> tasks, std::unique_ptr<JudgeBackend> workers);
  ~Judge();
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  const std::vector<Task>& tasks() const;
  std::string sandbox_level() const;  // "S2 (namespaces, private root, rlimits, seccomp; …)"
  std::string machine(
      const std::string& language) const;  // what judges candidates of a language of its tasks
  int64_t width() const;                   // candidates that it works on at a time

  std::vector<std::string> notes() const;  // what the user should know, a line each: "no profile of …"

  // Never throws for a candidate's sake. `source` is the candidate's code, not the whole answer.
  Ticket submit(const std::string& task, const std::string& source);
  // Verdicts that have arrived since the last call; waits up to `wait` for the first if none has. Errors:
  // WorldError with the last lane's message if no lane can judge any more.
  std::vector<Judged> poll(std::chrono::milliseconds wait);
  size_t pending() const;  // submitted and not yet handed out by poll

  // Submit and wait for this one. Errors: WorldError once interrupted().
  Verdict judge(const std::string& task, const std::string& source);

  // From now on verdicts are written to this file; those that it holds are given again. See VerdictJournal.
  // Errors: WorldError naming the file.
  void keep_journal(const std::filesystem::path& file, uint64_t known_bytes);
  // Names of the tasks of those candidates, since the last call, that were already submitted before the run was
  // stopped but have no verdict in the journal, and are therefore measured a second time. One name a candidate.
  std::vector<std::string> measured_anew();
  JudgeStats stats() const;

  bool judges_on_own_gpu() const;  // on which this process itself computes
  // Locks this process's own GPU: while the result lives, no process judges on it, since measured times are only
  // meaningful if nothing else runs there. Returns null if no candidate is judged on that GPU, or if `give_up()`
  // becomes true while another process holds the lock. Waiting may take for ever; after ten seconds the holder is
  // named on standard error.
  std::shared_ptr<void> hold_own_gpu(const std::function<bool()>& give_up);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace temper::env
