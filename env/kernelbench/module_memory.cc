#include "env/kernelbench/module_memory.h"

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "base/machine/cores.h"
#include "base/process.h"
#include "base/progress.h"
#include "env/verdict/problem_sizes.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;

// For one problem: its own limits (python/room.py), and what hangs where Python gets no turn.
constexpr double kPatience_s = 8;
constexpr double kWholePatience_s = 60, kSilent_s = 2;  // for all of them; before progress is shown
constexpr std::chrono::seconds kReading{1};             // an answer that has begun to arrive
constexpr std::chrono::milliseconds kPause{2};
constexpr int64_t kMostTellers = 4, kTasksOfProcess = 20;
constexpr int64_t kContextBytes = 600ll << 20;  // a context, torch's kernels and workspaces of products
constexpr int64_t kStrictDraws = 24;            // of a candidate that is not audited: checks and pairs
constexpr double kStrictShare = 0.15, kComparableShare = 0.2;  // of env/kernelbench/python/room.py

int64_t bytes_in(const Json& json, const char* key) {
  const auto bytes = json.contains(key) ? whole_number(json.at(key)) : std::nullopt;
  if (!bytes || *bytes < 0)
    throw WorldError("the sizes of a problem are told oddly: {}", printable(json.dump(), 200));
  return *bytes;
}

int64_t share_of(int64_t bytes, double share) { return int64_t(double(bytes) * share); }

// A process that tells sizes, and the task that it is asked about.
struct Teller {
  std::optional<ModuleProcess> process;
  std::optional<size_t> task = {};
  double until_s = 0;
};

class SizesLook {
 public:
  SizesLook(const ModuleBoxOptions& options, const std::vector<Task>& tasks,
            const std::filesystem::path& file)
      : options_(options), tasks_(tasks), known_(file), look_{.sizes = {}} {
    options_.device = "cpu";
    options_.gpu_uuid.clear();
    options_.nodes.clear();
    look_.sizes.resize(tasks.size());
  }

  ModuleLook look() {
    find_unknown();
    const auto wanted = std::clamp<int64_t>(std::ssize(wanted_) / kTasksOfProcess, 1,
                                            std::min(kMostTellers, allowed_core_count()));
    tellers_.resize(wanted_.empty() ? 0 : size_t(wanted));
    for (Teller& teller : tellers_) start(teller);  // all at once: what they import takes seconds
    while ((next_ < wanted_.size() && now_s() - began_s_ < kWholePatience_s) || asked() > 0) {
      for (Teller& teller : tellers_) step(teller);
      if (!heard()) std::this_thread::sleep_for(kPause);
      show_progress();
    }
    look_.left = std::ssize(wanted_) - int64_t(next_);
    if (progress_) progress_->finish(false);
    return std::move(look_);
  }

 private:
  // Those of which nothing is known yet, in an order in which any part of them is like the whole.
  void find_unknown() {
    std::vector<std::pair<std::string, size_t>> keyed;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      if (!tasks_[i].module) continue;
      const std::string digest = digest_of(tasks_[i]);
      if (const ProblemSizes::Sizes* sizes = known_.find(digest))
        set(i, *sizes);
      else
        keyed.emplace_back(digest, i);
    }
    std::ranges::sort(keyed);
    for (const auto& [digest, i] : keyed) wanted_.push_back(i);
  }

  std::string digest_of(const Task& task) const {
    return sha256(fmt::format("{}\n{}\n{}\n{}", task.reference, task.module->precision,
                              description(options_.python), options_.huggingface))
        .substr(0, 32);
  }

  void set(size_t task, const ProblemSizes::Sizes& sizes) {
    if (sizes) look_.sizes[task] = ModuleSizes{(*sizes)[0], (*sizes)[1], (*sizes)[2]};
  }

  void start(Teller& teller) {
    teller.process.emplace(
        options_,
        ModuleProgram{.program = "sizes_main.py", .arguments = {}, .descriptors = {}, .trusted = true});
  }

  int64_t asked() const {
    return std::ranges::count_if(tellers_, [](const Teller& teller) { return teller.task.has_value(); });
  }

  bool heard() const {
    return std::ranges::any_of(tellers_,
                               [](const Teller& teller) { return teller.task && teller.process->heard(); });
  }

  void step(Teller& teller) {
    if (interrupted()) throw WorldError("interrupted while the problems' sizes were told");
    if (teller.task) {
      if (!teller.process->heard() && now_s() < teller.until_s) return;
      take(teller);
    }
    if (next_ == wanted_.size() || now_s() - began_s_ > kWholePatience_s) return;
    if (!teller.process) start(teller);
    teller.process->wait_ready();
    const Task& task = tasks_[wanted_[next_]];
    teller.task = wanted_[next_++];
    teller.until_s = now_s() + kPatience_s;
    teller.process->send({{"source", task.reference}, {"precision", task.module->precision}});
  }

  void take(Teller& teller) {
    const size_t task = *std::exchange(teller.task, std::nullopt);
    const ModuleFrame frame = teller.process->receive(kReading);
    if (frame.end == "interrupted") return;
    ProblemSizes::Sizes sizes;
    if (!frame.json) {
      teller.process.reset();  // it hangs or has crashed; others can still be told
    } else if (frame.json->value("status", "") == "ok") {
      sizes = {bytes_in(*frame.json, "inputs"), bytes_in(*frame.json, "weights"),
               bytes_in(*frame.json, "outputs")};
    }
    set(task, sizes);
    known_.add(digest_of(tasks_[task]), sizes);
  }

  void show_progress() {
    if (!progress_ && now_s() - began_s_ > kSilent_s) progress_.emplace("sizes", std::ssize(wanted_));
    if (progress_) progress_->set(int64_t(next_) - asked());
  }

  ModuleBoxOptions options_;
  const std::vector<Task>& tasks_;
  ProblemSizes known_;
  ModuleLook look_;
  std::vector<size_t> wanted_;  // tasks
  size_t next_ = 0;             // of those
  std::vector<Teller> tellers_;
  std::optional<Progress> progress_;
  const double began_s_ = now_s();
};

}  // namespace

ModuleLook look_at_modules(const ModuleBoxOptions& options, const std::vector<Task>& tasks,
                           const std::filesystem::path& file) {
  return SizesLook(options, tasks, file).look();
}

// With I, W and O for the bytes of inputs, weights and outputs, f for how much larger a number is in float64, M for the GPU's
// memory and t for the comparable trials (judged.py, strict.py, room.py):
//   exchange   2 (I + W): the baseline's and candidates'
//   reference  (2 + f) W + I + 2 O + O + f (I + O): KernelBench's weights and the strict ones, these in float64, too; a draw with
//              what is expected and its correction; a snapshot of the outputs; the run in float64
//   draws      min(0.15 M, 24 (I + 2 O)) + min(0.2 M, t (I + O)), strict and comparable
//   modules    2 (W + O): the baseline and a candidate, without what they compute in between
//   contexts   5
ModuleMemory module_memory(const ModuleSizes& sizes, const ModuleProblem& problem, int64_t gpu_bytes) {
  const auto [inputs, weights, outputs] = sizes;
  const int64_t widened = problem.precision == "fp32" ? 2 : 4;
  return {
      .exchange = 2 * (inputs + weights),
      .reference = (2 + widened) * weights + inputs + 3 * outputs + widened * (inputs + outputs),
      .draws = std::min(share_of(gpu_bytes, kStrictShare), kStrictDraws * (inputs + 2 * outputs)) +
               std::min(share_of(gpu_bytes, kComparableShare), problem.correct_trials * (inputs + outputs)),
      .modules = 2 * (weights + outputs),
      .contexts = kModuleContexts * kContextBytes};
}

}  // namespace temper::env
