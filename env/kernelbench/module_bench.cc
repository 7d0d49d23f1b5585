#include "env/kernelbench/module_bench.h"

#include <sys/random.h>

#include <algorithm>

#include "base/error.h"
#include "env/box/clock.h"
#include "env/kernelbench/module_memory.h"
#include "env/kernelbench/module_times.h"
#include "env/verdict/timing.h"

namespace temper::env {
namespace {

using std::chrono::nanoseconds;

constexpr ModuleLimits kBaselineLimits =
    one_limit(std::chrono::seconds(600));  // for each thing that is asked of it
constexpr int kWarmCalls = 3, kAloneCalls = 5;
// Of a launch that waits for nothing. A GPU that another process keeps busy is shared by turns of a millisecond and more.
constexpr double kIdle_us = 400;
constexpr int64_t kKeptExchange_bytes = int64_t(1) << 30;  // env/kernelbench/python/exchange.py
constexpr nanoseconds kAlonePatience = std::chrono::seconds(1);

// The reference's own module, run by the same program as candidates: what that costs is then the same for both.
constexpr const char* kBaselineSource = "class ModelNew(Model):\n    pass\n";

}  // namespace

std::string secret_key() {
  uint64_t words[2];
  if (::getrandom(words, sizeof words, 0) != ssize_t(sizeof words)) throw system_error("draw a random key");
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

ModuleBench::ModuleBench(const ModuleBoxOptions& options, int64_t spares, ModuleTurns* turns,
                         int64_t gpu_bytes)
    : user_(options.user),
      turns_(turns),
      gpu_bytes_(gpu_bytes),
      lanes_(options.lanes),
      starting_(turns != nullptr ? turns->hold() : Fd()),
      zygote_(options),
      reference_(options),
      pool_(zygote_, options.user, spares) {
  if (turns_ != nullptr) turns_->tell({zygote_.pid(), reference_.pid()});
  starting_ = Fd();
}

ModuleBench::~ModuleBench() {
  if (turns_ == nullptr) return;
  turns_->tell({});
  turns_->claim(0, 0);
}

void ModuleBench::close() {
  open_.clear();
  reference_times_.clear();
  baseline_.reset();
  if (reference_.exchange_bytes() > kKeptExchange_bytes) pool_.clear();  // which would keep it mapped
  reference_.wait_ready();
  reference_.forget_all_but(0);
  reference_.unload();
  if (turns_ != nullptr) turns_->claim(0, 0);
}

// Lanes share the GPU's memory. What a problem takes is told by its shapes; of one that does not tell them an eighth is thought enough.
void ModuleBench::claim_memory(const Task& task) {
  if (turns_ == nullptr || gpu_bytes_ == 0) return;
  const auto sizes = reference_.sizes(task);
  turns_->claim(sizes ? module_memory(*sizes, *task.module, gpu_bytes_ / lanes_).sum() : gpu_bytes_ / 8,
                gpu_bytes_);
}

std::unique_ptr<ModuleTurns::Alone> ModuleBench::alone() const {
  return turns_ != nullptr ? std::make_unique<ModuleTurns::Alone>(*turns_) : nullptr;
}

void ModuleBench::wait_ready() {
  zygote_.wait_ready();
  reference_.wait_ready();
}

CandidateProcess::Exchange ModuleBench::exchange(bool baseline) const {
  return {reference_.exchange(baseline), reference_.exchange_bytes(), baseline};
}

void ModuleBench::open(const Task& task) {
  const std::string digest = task.digest();
  if (digest == open_) return;
  if (const auto known = unusable_.find(digest); known != unusable_.end())
    throw ProblemUnusable("{}", known->second);
  // The old baseline's memory is free again before the new problem asks for some.
  close();
  try {
    claim_memory(task);
    ReferenceProcess::Loaded loaded = reference_.load(task);
    if (!loaded.problem.empty()) throw ProblemUnusable("task {}: {}", task.name, loaded.problem);
    facts_ = std::move(loaded.facts);
    if (facts_.outputs.size() > ClockPage::kMostPlaces)
      throw ProblemUnusable("task {}: its model returns {} tensors; at most {} can be judged", task.name,
                            facts_.outputs.size(), ClockPage::kMostPlaces);
    baseline_ = std::make_unique<CandidateProcess>(zygote_, exchange(true), user_);
    prepare();
    baseline_->wait_ready();
    start_baseline(task);
  } catch (const ProblemUnusable& e) {
    unusable_[digest] = e.what();
    throw;
  }
  open_ = digest;
}

void ModuleBench::start_baseline(const Task& task) {
  baseline_->allow(kBaselineLimits);
  const nanoseconds begun = raw_clock();
  const auto taken = baseline_->take({.source = kBaselineSource, .extensions = {}}, task);
  if (taken.found)
    throw ProblemUnusable("task {}: its model cannot be built where candidates run: {}", task.name,
                          taken.found->detail);
  baseline_cost_ = {.build = raw_clock() - begun, .call = nanoseconds::max()};
  const std::string key = secret_key();
  const auto weighed =
      baseline_->take_weights(reference_.make_weights(ModuleRules::kStrict, key, baseline_->party()));
  if (weighed.found)
    throw ProblemUnusable("task {}: its model does not take its own weights: {}", task.name,
                          weighed.found->detail);
  for (int i = 0; i < kWarmCalls; ++i) {
    const auto made = call(*baseline_, {ModuleRules::kStrict, i, key});
    if (made.answer.found)
      throw ProblemUnusable("task {}: its model fails where candidates run: {} {}", task.name,
                            made.answer.found->detail, made.answer.found->details);
    baseline_cost_.call = std::min(baseline_cost_.call, nanoseconds(int64_t(made.us * 1e3)));
    const ModuleComparison compared = reference_.compare();
    if (!compared.right)
      throw ProblemUnusable(
          "task {}: its model does not agree with itself ({}); does it draw numbers in forward?", task.name,
          compared.message);
  }
  alone_ = {};
  time_alone();
}

ModuleBench::Alone ModuleBench::time_alone() {
  const auto only = alone();
  baseline_->allow(kBaselineLimits);
  std::vector<double> own_us, rest_us;
  const std::string key = secret_key();
  for (int i = 0; i < kAloneCalls; ++i) {
    baseline_->freeze();  // as between calls in pairs
    quiet(kAlonePatience);
    baseline_->thaw();
    const auto made = call(*baseline_, {ModuleRules::kStrict, i, key}, true);
    if (made.answer.found) throw WorldError("the baseline fails: {}", made.answer.found->detail);
    own_us.push_back(own_us_of(made));
    rest_us.push_back(made.us - own_us.back());
  }
  const Alone now{median(own_us), median(rest_us)}, before = std::exchange(alone_, now);
  if (before.own_us == 0) return now;
  return {std::min(now.own_us, before.own_us), std::min(now.rest_us, before.rest_us)};
}

bool ModuleBench::quiet(nanoseconds patience) {
  const nanoseconds until = raw_clock() + patience;
  while (reference_.idle_us() > kIdle_us)
    if (raw_clock() > until) return false;
  return true;
}

const RuntimeStats& ModuleBench::reference_times(int64_t trials) {
  if (const auto known = reference_times_.find(trials); known != reference_times_.end()) return known->second;
  baseline_->allow(kBaselineLimits);
  const auto made = call(*baseline_, {ModuleRules::kComparable, 0, ""});
  std::vector<double> times_ms;
  Found found = made.answer.found;
  if (!found) found = baseline_->comparable_times(trials, {}, times_ms, false).found;
  if (found) throw WorldError("the baseline cannot be timed: {}", found->detail);
  return reference_times_[trials] = runtime_stats(times_ms);
}

CandidateProcess::Call ModuleBench::call(CandidateProcess& process, const ModuleDraw& draw, bool own_time) {
  const ReferenceProcess::Placed placed = reference_.place(draw, process.party());
  CandidateProcess::Call made;
  made.answer = process.arm(placed, own_time);
  if (made.answer.found) return made;
  reference_.draw();
  made = process.go(reference_);
  reference_.leave();
  return made;
}

std::unique_ptr<CandidateProcess> ModuleBench::take() {
  reference_.forget_all_but(baseline_ ? baseline_->party().number : 0);
  prepare();
  return pool_.take();
}

void ModuleBench::prepare() { pool_.prepare(exchange(false)); }

}  // namespace temper::env
