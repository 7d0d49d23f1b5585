#pragma once
// The broker's side of the reference: a process that holds one problem at a time, draws its inputs, knows the right outputs and
// compares. No candidate runs in it. It may die: every call throws WorldError if it is gone, silent for too long, or answers
// with an error.

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "env/kernelbench/module_memory.h"
#include "env/kernelbench/module_process.h"
#include "env/kernelbench/module_reply.h"
#include "env/kernelbench/turns/clock_page.h"
#include "env/task/task.h"

namespace temper::env {

// Whose rules a draw follows: KernelBench's own seeds, which the world knows, or ours, which are secret.
enum class ModuleRules : uint8_t { kComparable, kStrict };

// The inputs of one call.
struct ModuleDraw {
  ModuleRules rules = ModuleRules::kStrict;
  int64_t trial = 0;
  std::string key;  // hexadecimal digits; strict draws alone
};

class ReferenceProcess {
 public:
  // Starts it and returns at once. Errors: WorldError.
  explicit ReferenceProcess(const ModuleBoxOptions& options);
  void wait_ready() { process_.wait_ready(); }
  pid_t pid() const { return process_.pid(); }

  // Takes the task's problem in place of the one before. What is wrong with the problem itself, in words, is no error of ours.
  struct Loaded {
    ModuleProblemFacts facts;
    std::string problem;  // empty: it can be judged
  };
  Loaded load(const Task& task);
  void unload();
  // What the task's tensors take; nothing where its shapes do not tell.
  std::optional<ModuleSizes> sizes(const Task& task);

  // Whoever computes. The baseline and candidates have exchanges of their own.
  struct Party {
    int64_t number = 0;  // no other process has it
    bool baseline = false;
  };
  // The same weights for all models of the problem: a list for CandidateProcess::take_weights, which lies in the party's exchange.
  nlohmann::json make_weights(ModuleRules rules, const std::string& key, const Party& party);

  // Where the tensors of a call will lie: for CandidateProcess::arm.
  struct Placed {
    nlohmann::json inputs, outputs;
  };
  Placed place(const ModuleDraw& draw, const Party& party);
  // Draws those inputs where no party sees them. Then the process waits for steps, spinning, and for nothing else until leave().
  void draw();
  enum class Step : uint8_t {
    kLeave,        // of env/kernelbench/python/reference_main.py
    kShow,         // writes the inputs into the exchange
    kTakeSegment,  // maps memory of the party's
    kSnapshot,     // copies the outputs; what is written later does not count
  };
  // Makes the reference take that step.
  void take(Step step);
  // Hands over memory in which the party says that results lie, by its frame.
  void take_segment(const nlohmann::json& told, const Fd& memory);
  // What a call took, from when its inputs were there until its outputs were copied; after kSnapshot. On a GPU by its own clock, which goes
  // on while hosts wait for a core.
  double took_us() const { return double(clock_.read(ClockPage::Word::kTook)) * 1e-3; }
  // Where the party says that they lie, before kSnapshot.
  void copy_places(const ClockPage& from) { clock_.copy_places(from); }
  void leave();
  ModuleComparison compare();
  // How long the GPU takes at most for a kernel that does nothing, of a few; 0 on a core.
  double idle_us();
  // Unmaps the memory of all parties but that one.
  void forget_all_but(int64_t party);

  // The memory through which calls of a party pass, and its bytes on a GPU. load() may make another one there. On a core it grows.
  int exchange(bool baseline) const { return exchanges_[baseline ? 0 : 1].get(); }
  int64_t exchange_bytes() const { return exchange_bytes_; }

 private:
  nlohmann::json ask(const nlohmann::json& request, std::chrono::nanoseconds patience);

  std::array<Fd, 2> exchanges_;  // the baseline's, candidates'
  ClockPage clock_;
  uint64_t number_ = 0;  // of the last step
  ModuleProcess process_;
  int64_t exchange_bytes_ = 0, generation_ = 0;
};

}  // namespace temper::env
