#include "env/kernelbench/module_procedure.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "env/verdict/details.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

constexpr int64_t kStrictChecks = 3;  // draws before any is timed
constexpr int64_t kAuditFactor = 3;   // times the most pairs
constexpr double kNearFloorFactor = 1.1, kLeastFloor_us = 1.0;
// KernelBench's timed trials may take so long, and half of what is left of the budget. A hundred of what takes longer say no more
// of it than a few.
constexpr double kTimed_us = 10e6, kTimedShare = 0.5;
constexpr int64_t kLeastTrials = 3;
// So many calls of a candidate in which it took less than anybody can are no accident.
constexpr int64_t kImpossible = 2;
constexpr int64_t kMostMapped = 8;  // pairs that are repeated for one candidate
// A kernel of another lane's may run as long as a first call may take.
constexpr double kGpuPatience_s = 120;
constexpr std::chrono::milliseconds kMoment{50},
    kBusyPause{500};  // those of others are stopped for a small share of the time
constexpr std::chrono::seconds kLeftPatience{2};
constexpr size_t kMostErrorBytes = 200;  // as KernelBench's files have it

// A process may say so of itself without need, which gains it nothing.
bool refused_by_list(const Found& found) {
  return found && found->kind == VerdictKind::kRejectPolicy &&
         (found->reason == "import" || found->reason == "flag");
}

std::string shape_text(const std::vector<int64_t>& sizes) {
  return fmt::format("torch.Size([{}])", fmt::join(sizes, ", "));
}

double worst_of(const std::vector<double>& differences) {
  double worst = 0;
  for (const double one : differences) {
    if (std::isnan(one)) return one;
    worst = std::max(worst, one);
  }
  return worst;
}

}  // namespace

Found weigh_shapes(const std::vector<ModuleTensor>& outputs, const std::vector<ModuleTensor>& expected) {
  const auto wrong = [](const char* reason, std::string words) {
    return Finding{VerdictKind::kFailIncorrect, reason, std::move(words)};
  };
  if (outputs.size() != expected.size())
    return wrong("shape", fmt::format("returned {} tensors, not {}", outputs.size(), expected.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].sizes != expected[i].sizes)
      return wrong("shape", fmt::format("returned {}, not {}; return the shape that Model returns",
                                        tensor_text(outputs[i]), tensor_text(expected[i])));
    if (outputs[i].type != expected[i].type)
      return wrong("dtype", fmt::format("returned {}, not {}; return the dtype that Model returns",
                                        outputs[i].type, expected[i].type));
    if (!laid_as(outputs[i], expected[i]))
      return wrong("strides", fmt::format("returned a view with strides [{}]; return a contiguous tensor",
                                          fmt::join(outputs[i].strides, ", ")));
  }
  return std::nullopt;
}

ModuleProcedure::ModuleProcedure(const ModuleProcedureOptions& options, const ModuleMachine& machine,
                                 ModuleBench& bench, const Task& task)
    : options_(options), machine_(machine), bench_(bench), task_(task) {}

Verdict ModuleProcedure::judge(const ModuleCandidate& candidate) {
  bench_.open(task_);
  process_ = bench_.take();
  const double start = now_s();
  Found found = examine(candidate);
  if (!found) found = time_alone();
  if (!found && machine_.device != "cpu") found = profile();
  process_.reset();  // with all that it has started
  if (!found) use_faster_baseline();
  if (options_.naive) verdict_.naive = naive();  // of the process that was held to the list: it may be paid
  const bool refused = candidate.gated && refused_by_list(found);
  if (refused && options_.compare_refused && compares(candidate)) find_comparable_ungated(candidate);
  if (compares(candidate) && (!refused || options_.compare_refused)) verdict_.comparable = comparable_;
  verdict_.compile_ms = candidate.compile_ms;
  verdict_.run_ms = (now_s() - start) * 1e3;
  verdict_.total_ms = verdict_.compile_ms + verdict_.run_ms;
  conclude(verdict_, found);
  tell_problem(bench_.facts().notes, verdict_);
  return verdict_;
}

Found ModuleProcedure::examine(const ModuleCandidate& candidate) {
  const double start = now_s();
  Found found = find_comparable(candidate);
  if (!found) found = take_weights();
  if (!found) found = check_strict();
  verdict_.check_ms = (now_s() - start) * 1e3;
  return found;
}

// While no other lane's processes run.
Found ModuleProcedure::time_alone() {
  const double start = now_s();
  bench_.settle();
  std::unique_ptr<ModuleTurns::Alone> alone;
  Found found = be_alone(alone);
  if (!found) found = time_pairs(options_.min_pairs, options_.max_pairs);
  if (!found) found = weigh_times();
  bench_.baseline().thaw();
  if (process_) process_->thaw();
  verdict_.time_ms = (now_s() - start) * 1e3;
  return found;
}

// Until the GPU is quiet while all others are stopped. Long kernels of theirs go on in between, and end by limits of their own.
Found ModuleProcedure::be_alone(std::unique_ptr<ModuleTurns::Alone>& alone) {
  for (const double until_s = now_s() + kGpuPatience_s; now_s() < until_s;) {
    alone = bench_.alone();
    process_->freeze();
    const bool quiet = bench_.quiet(kMoment);
    process_->thaw();
    if (quiet) return std::nullopt;
    alone.reset();
    std::this_thread::sleep_for(kBusyPause);
  }
  alone = bench_.alone();
  return left_work();
}

// The GPU is busy while all others are stopped.
Found ModuleProcedure::left_work() {
  process_.reset();
  if (!bench_.quiet(kLeftPatience)) throw WorldError("the GPU is busy with other work");
  return Finding{
      VerdictKind::kHack, "async",
      "left work on the GPU that went on after forward had returned; end all work before it returns"};
}

Found ModuleProcedure::find_comparable(const ModuleCandidate& candidate) {
  process_->allow(limits());
  Found found = take(candidate);
  if (!compares(candidate)) return found;
  if (!found) found = try_comparable();
  if (!found && comparable_.correctness) found = time_comparable();
  comparable_.timed_out = found && found->kind == VerdictKind::kFailTimeout;
  return found;
}

bool ModuleProcedure::compares(const ModuleCandidate& candidate) const {
  if (options_.naive || options_.comparable_share >= 1 || task_.split != "train") return true;
  constexpr double kAll = 1ull << 32;
  return double(std::stoull(sha256(task_.name + candidate.source).substr(0, 8), nullptr, 16)) <
         options_.comparable_share * kAll;
}

ModuleLimits ModuleProcedure::limits() const {
  return module_limits(options_.budget, options_.warm_up, bench_.baseline_cost());
}

// Nothing but the comparable verdict comes of this process. Its exchange, box and limits are as those of others.
void ModuleProcedure::find_comparable_ungated(ModuleCandidate candidate) {
  candidate.gated = false;
  comparable_ = {};
  last_us_ = 0;
  process_ = bench_.take();
  find_comparable(candidate);
  process_.reset();
}

// What the process says of its failure, as KernelBench's files have it.
void ModuleProcedure::tell(const CandidateProcess::Answer& answer) {
  comparable_.error_name = answer.failure.error;
  comparable_.error = answer.failure.message.substr(0, kMostErrorBytes);
  comparable_.traceback = answer.failure.traceback;
  if (!answer.found) return;
  if (comparable_.error_name.empty()) comparable_.error_name = answer.found->reason;
  if (comparable_.error.empty()) comparable_.error = words_of(answer.found->reason);
}

Found ModuleProcedure::take(const ModuleCandidate& candidate) {
  const auto answer = process_->take(candidate, task_);
  // KernelBench calls compiled what could be imported, whether or not it can be built.
  comparable_.compiled = !answer.found || answer.failure.stage == "construct";
  if (answer.found) tell(answer);
  return answer.found;
}

// All trials are made, as KernelBench makes them, unless one fails by more than its values.
Found ModuleProcedure::try_comparable() {
  bench_.reference().make_weights(ModuleRules::kComparable, "", process_->party());
  comparable_.trials = task_.module->correct_trials;
  for (int64_t trial = 0; trial < comparable_.trials; ++trial)
    if (Found found = try_one_comparable(trial)) return found;
  comparable_.correctness = comparable_.trials_right == comparable_.trials;
  return std::nullopt;
}

Found ModuleProcedure::try_one_comparable(int64_t trial) {
  const auto made = bench_.call(*process_, {ModuleRules::kComparable, trial, ""});
  if (made.answer.found) {
    tell(made.answer);
    return made.answer.found;
  }
  const auto& expected = bench_.facts().outputs;
  if (Found wrong = weigh_shapes(made.outputs, expected); wrong && wrong->reason != "strides") {
    comparable_.issue = wrong->detail;
    if (wrong->reason == "shape" && made.outputs.size() == expected.size() && expected.size() == 1)
      comparable_.issue = fmt::format("Output shape mismatch: Expected {}, got {}",
                                      shape_text(expected[0].sizes), shape_text(made.outputs[0].sizes));
    return wrong;
  }
  const ModuleComparison compared = bench_.reference().compare();
  last_us_ = last_us_ > 0 ? std::min(last_us_, made.us) : made.us;  // other lanes may have stopped one
  if (compared.right) {
    ++comparable_.trials_right;
    return std::nullopt;
  }
  comparable_.issue = kOutputMismatch;
  comparable_.max_difference.push_back(worst_of(compared.max_difference));
  comparable_.avg_difference.push_back(worst_of(compared.avg_difference));
  return std::nullopt;
}

// Makes as many trials as KernelBench does, and fewer only where they would take long. What goes wrong here fails the comparable
// verdict alone, unless the process has ended or was killed because it had passed a limit of time.
Found ModuleProcedure::time_comparable() {
  bench_.settle();
  std::unique_ptr<ModuleTurns::Alone> alone;
  if (Found found = be_alone(alone)) return found;
  process_->freeze();
  comparable_.ref_runtime = bench_.reference_times(task_.module->timed_trials);
  process_->thaw();
  const double budget_us = std::min(kTimed_us, double(process_->left().count()) * 1e-3 * kTimedShare);
  int64_t trials = task_.module->timed_trials;
  if (last_us_ > 0 && double(trials) * last_us_ > budget_us)
    trials = std::max(kLeastTrials, int64_t(budget_us / last_us_));
  std::vector<double> times_ms;
  const auto answer =
      process_->comparable_times(trials, std::chrono::nanoseconds(int64_t(last_us_ * 1e3)), times_ms);
  if (answer.found) tell(answer);
  if (answer.found && answer.found->kind == VerdictKind::kFailTimeout) return answer.found;
  if (times_ms.empty()) return std::nullopt;
  comparable_.runtime = runtime_stats(times_ms);
  comparable_.excessive_speedup = comparable_.runtime.mean > 0 &&
                                  comparable_.ref_runtime.mean > kExcessiveSpeedup * comparable_.runtime.mean;
  return std::nullopt;
}

// Others than those that the candidate was made with, so that their values have to be read in each call.
Found ModuleProcedure::take_weights() {
  const auto weights_for = [&](const CandidateProcess& process) {
    return bench_.reference().make_weights(ModuleRules::kStrict, key_, process.party());
  };
  const nlohmann::json weights = weights_for(*process_);
  for (const auto* tensors : {&bench_.facts().inputs, &bench_.facts().outputs})
    for (const ModuleTensor& tensor : *tensors) bytes_ += double(module_bytes(tensor));
  for (const ModuleTensor& tensor : tensors_in({{"weights", weights}}, "weights"))
    bytes_ += double(module_bytes(tensor));
  bench_.baseline().allow(one_limit(options_.budget));
  if (const auto own = bench_.baseline().take_weights(weights_for(bench_.baseline())); own.found)
    throw WorldError("the baseline does not take its weights: {}", own.found->detail);
  if (!process_->running())
    return Finding{VerdictKind::kFailRuntime, "exit", "ended its process while it was timed"};
  process_->expect_warm_up();
  return process_->take_weights(weights).found;
}

ModuleDraw ModuleProcedure::next_draw() { return {ModuleRules::kStrict, draws_++, key_}; }

Found ModuleProcedure::call_and_compare(const ModuleDraw& draw, CandidateProcess::Call& made) {
  made = bench_.call(*process_, draw);
  if (made.answer.found) return made.answer.found;
  if (Found wrong = weigh_shapes(made.outputs, bench_.facts().outputs)) return wrong;
  const ModuleComparison compared = bench_.reference().compare();
  if (compared.right) return std::nullopt;
  return Finding{VerdictKind::kFailIncorrect, compared.reason, compared.message};
}

Found ModuleProcedure::check_strict() {
  CandidateProcess::Call made;
  for (int64_t i = 0; i < kStrictChecks; ++i)
    if (Found found = call_and_compare(next_draw(), made)) return found;
  return std::nullopt;
}

// Both are stopped, with all that they have started, and what is left on the GPU is done. Then one goes on: whatever that costs, it costs
// both.
Found ModuleProcedure::give_turn(CandidateProcess& to) {
  process_->freeze();
  bench_.baseline().freeze();
  if (!bench_.quiet(kLeftPatience)) return left_work();
  to.thaw();
  return std::nullopt;
}

Found ModuleProcedure::call_baseline(const ModuleDraw& draw, CandidateProcess::Call& made) {
  if (Found found = give_turn(bench_.baseline())) return found;
  bench_.baseline().allow(one_limit(options_.budget));
  made = bench_.call(bench_.baseline(), draw, true);
  if (made.answer.found) throw WorldError("the baseline fails: {}", made.answer.found->detail);
  return std::nullopt;
}

// On the same draw, in turn first. What each computes on is out of the other's reach. Every output of the candidate is compared.
Found ModuleProcedure::time_pair(CandidateProcess::Call& made, CandidateProcess::Call& baseline) {
  const ModuleDraw draw = next_draw();
  const bool baseline_first = pairs_.baseline_first();
  Found found;
  if (baseline_first) found = call_baseline(draw, baseline);
  if (!found) found = give_turn(*process_);
  if (!found) found = call_and_compare(draw, made);
  if (!found && !baseline_first) found = call_baseline(draw, baseline);
  return found;
}

// A result that lies where none did before takes longer than most modules, as it is mapped first. Allocators settle after some calls;
// where one does not, that is the candidate's time.
Found ModuleProcedure::time_pairs(int64_t min_pairs, int64_t max_pairs) {
  while (!pairs_.enough(min_pairs, max_pairs)) {
    CandidateProcess::Call made, baseline;
    if (Found found = time_pair(made, baseline)) return found;
    if ((made.maps || baseline.maps) && mapped_++ < kMostMapped) continue;
    pairs_.add(made, baseline);
  }
  return std::nullopt;
}

Found ModuleProcedure::weigh_times() {
  const TimedPairs times = pairs_.times();
  const TimeBounds bounds = module_bounds(machine_, bytes_);
  const Found found = times.weigh(task_, pairs_.bounds_of(bounds), verdict_);
  const bool near_floor =
      verdict_.floor_us > kLeastFloor_us && verdict_.candidate_us < kNearFloorFactor * verdict_.floor_us;
  const bool suspect = near_floor || pairs_.below(bounds) >= kImpossible || times.unsteady();
  return found || suspect ? audit() : std::nullopt;
}

// Times it again, for longer and on other draws; only these times count. Few calls do not accuse anybody.
Found ModuleProcedure::audit() {
  verdict_.audited = true;
  process_->allow(limits());
  pairs_ = {};
  const int64_t pairs = kAuditFactor * options_.max_pairs;
  if (Found found = time_pairs(pairs, pairs)) return found;
  const TimedPairs times = pairs_.times();
  const TimeBounds bounds = module_bounds(machine_, bytes_);
  if (Found found = times.weigh(task_, pairs_.bounds_of(bounds), verdict_)) return found;
  if (pairs_.below(bounds) >= kImpossible) return Finding{VerdictKind::kHack, "floor", ""};
  if (times.unsteady()) return Finding{VerdictKind::kSuspect, "unsteady", ""};
  return std::nullopt;
}

// After the candidate has ended: whatever it did to slow the baseline down, or to lengthen what its calls take besides, has gained nothing.
// What is within the spread of such clocks is chance.
void ModuleProcedure::use_faster_baseline() {
  const double own_us = pairs_.own_us();
  if (own_us <= 0) return;
  const ModuleBench::Alone alone = bench_.time_alone();
  const ModuleOverhead taken = pairs_.overhead();
  const double hidden_us = std::max(0.0, taken.call_us - taken.call_spread_us - alone.rest_us);
  const double slower = std::min(1.0, alone.own_us / own_us);
  const double factor = slower * verdict_.candidate_us / (verdict_.candidate_us + hidden_us);
  verdict_.candidate_us += hidden_us;
  verdict_.baseline_us *= slower;
  for (double* scaled : {&verdict_.speedup, &verdict_.speedup_low, &verdict_.speedup_high}) *scaled *= factor;
}

// After all calls that count, so that nothing that profiles is there while they are timed. What the process says of its times
// decides nothing. A kernel that is called as torch's are would be taken for one of them, and is refused.
Found ModuleProcedure::profile() {
  process_->allow(limits());
  if (bench_.call(*process_, next_draw()).answer.found) return std::nullopt;
  std::optional<ModuleProfile> seen;
  const auto answer = process_->profile(seen);
  if (answer.found && answer.found->kind == VerdictKind::kRejectPolicy) return answer.found;
  if (!seen) return std::nullopt;
  if (options_.believe_shares) verdict_.profile_share = seen->own_share;
  verdict_.profile = Profile{.kernels = seen->kernels,
                             .device_us = seen->device_us,
                             .bytes_per_s = bytes_ / (verdict_.candidate_us * 1e-6),
                             .roof_share = verdict_.roof_us / verdict_.candidate_us,
                             .roof = "memory"};
  return std::nullopt;
}

NaiveVerdict ModuleProcedure::naive() const {
  if (!comparable_.correctness) return {};
  return naive_of_times(comparable_.runtime.mean, comparable_.ref_runtime.mean);
}

}  // namespace temper::env
