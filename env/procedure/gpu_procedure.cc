#include "env/procedure/gpu_procedure.h"

#include <algorithm>
#include <ranges>

#include "base/error.h"
#include "base/rng.h"
#include "env/box/core_lease.h"
#include "env/box/wire.h"
#include "env/call/draw_turns.h"
#include "env/gpu/profile.h"
#include "env/plan/plan.h"
#include "env/procedure/gpu_naive.h"
#include "env/procedure/open_candidate.h"
#include "env/verdict/details.h"
#include "env/verdict/message.h"
#include "env/verdict/timing.h"

namespace temper::env {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kWarmUp{50};
constexpr Pace kPace{.long_us = 200, .tight = 0.03};  // a GPU's calls vary less than a core's
constexpr double kNearFloor = 1.1;
constexpr int kGpuChecks = 2;         // draws of each check shape and magnitude
constexpr int kTimedShapeChecks = 4;  // … of the timed shape, beside those of the pairs
constexpr int kIndexChecks = 2;       // times as many where there are indices, whose kinds no pair has
constexpr int64_t kAuditPairs = 3;    // times the most pairs
constexpr int64_t kMorePairs = 4;     // at once, where the first ones were not enough
constexpr uint64_t kPlacements = 0x9A95;
constexpr const char* kIllegalAddress = "illegal_address";  // the driver's word
constexpr nanoseconds kUnloadPatience{2'000'000'000};

double sum(const std::vector<int64_t>& values) {
  double total = 0;
  for (const int64_t value : values) total += double(value);
  return total;
}

// Whether it launches kernels beside memsets and copies.
bool mixes_steps(const std::string& serialized) {
  LaunchPlan plan;
  parse_plan(serialized, plan);  // the runner has taken it
  const auto kernels = std::ranges::count_if(
      plan.steps, [](const Step& step) { return std::holds_alternative<KernelLaunch>(step); });
  return kernels > 0 && kernels < std::ssize(plan.steps);
}

bool is_index(const TensorSpec& input) { return input.distribution == Distribution::kIndex; }
bool is_distinct(const TensorSpec& input) { return input.distribution == Distribution::kDistinct; }
bool has_indices(const Task& task) { return std::ranges::any_of(task.inputs, is_index); }

// As many draws of each check shape and magnitude as let each input take a turn at each of its kinds in the draws of one
// verdict. Where a timed shape has all kinds, its `pairs` count among them.
int64_t checks_for_all_kinds(const Task& task, int64_t pairs) {
  const auto shapes = std::ranges::count_if(
      task.check_shapes, [&task](const Shape& shape) { return has_all_kinds(task, shape); });
  if (shapes == 0) return 0;
  const int64_t cases = int64_t(shapes) * std::ssize(task.magnitudes),
                left = calls_for_all_kinds(task) - (has_all_kinds(task, task.timed_shape) ? pairs : 0);
  return (left + cases - 1) / cases;
}

// Whether some kinds of draws are for checks alone (sets_times in env/call/draw_forms.h).
bool has_kinds_of_checks(const Task& task) {
  return has_indices(task) || std::ranges::any_of(task.inputs, is_distinct);
}

// Makes plain those inputs whose kind may set the time of a call (sets_times in env/call/draw_forms.h).
void without_what_sets_times(const Task& task, GpuDraw& draw) {
  for (size_t i = 0; i < task.inputs.size(); ++i)
    if (sets_times(draw.kind[i])) draw.kind[i] = DrawKind::kPlain, draw.far[i] = 0;
}

}  // namespace

double gpu_floor_us(const Task& task, const GpuFactsWire& gpu, size_t timed) {
  const double written = sum(buffer_bytes(task.outputs, task.timed(timed).sizes));
  const RoofTimes roofs = roof_times(task, gpu, timed, std::min(written, double(gpu.l2_bytes)));
  return gpu_floor_us(roofs.us());
}

TimeBounds gpu_bounds(const Task& task, const GpuFactsWire& gpu, size_t timed) {
  return {.floor_us = gpu_floor_us(task, gpu, timed), .roof_us = roof_times(task, gpu, timed).us()};
}

GpuProcedure::GpuProcedure(const GpuProcedureOptions& options, const GpuFactsWire& gpu,
                           const GpuProcesses& processes, const std::vector<Task>& tasks, uint32_t task)
    : options_(options),
      gpu_(gpu),
      processes_(processes),
      task_(tasks.at(task)),
      task_index_(task),
      budget_(options.run_budget),
      turns_(secret_seed()),
      pairs_(kPace) {}

Verdict GpuProcedure::judge(const GpuCandidate& candidate) {
  const Fd held = lease(text_of(gpu_.uuid));
  const double start = now_s();
  Found found;
  try {
    if (const OpenCandidate open(candidate, task_.timed_count()); open.open()) found = choose(open);
    const GpuCandidate& judged = chosen_ ? *chosen_ : candidate;
    if (!found) found = examine(judged);
    if (options_.naive) verdict_.naive = ask_naive(judged);
  } catch (const TaskTooLarge&) {  // nothing is broken
    leave();
    throw;
  }
  leave();
  if (found) tell_shape(*found, task_, at_shape_);
  if (found && !verdict_.configuration.empty())
    found->details += "judged with " + verdict_.configuration + "\n";
  verdict_.plan_ms = candidate.plan_ms;
  verdict_.compile_ms = candidate.compile_ms + candidate.plan_ms;
  verdict_.run_ms = (now_s() - start) * 1e3;
  verdict_.total_ms = verdict_.compile_ms + verdict_.run_ms;
  conclude(verdict_, found);
  return verdict_;
}

// Checks that are cheap and often fail come first. The timed shapes are judged from the last to the first, because a
// verdict shows the profile that was made last, and that is to be the first shape's. A profile unloads the candidate, which
// is therefore loaded again for the next shape.
Found GpuProcedure::examine(const GpuCandidate& candidate) {
  const double start = now_s();
  const size_t last = task_.timed_count() - 1;
  shape_ = timed_number(last);
  Found found = load(candidate);
  if (!found && processes_.profiler != nullptr)
    processes_.profiler->load(candidate.cubins, plan_at_shape(candidate));
  if (!found) found = check_shapes();
  if (!found && processes_.profiler != nullptr) processes_.profiler->wait();
  const double checked = now_s();
  verdict_.check_ms += (checked - start) * 1e3;
  if (found) return found;
  if (processes_.idle) warm_up();
  verdict_.time_ms = (now_s() - checked) * 1e3;
  for (size_t i = last + 1; i-- > 0 && !found;) {
    begin_shape(timed_number(i));
    if (i < last && processes_.profiler != nullptr) found = reload(candidate);
    if (!found) found = judge_times(candidate);
  }
  if (found) return found;
  times_.give(verdict_);
  return std::nullopt;
}

// The last three are one call each, together little more than a timed pair, and are made only if the candidate would pass;
// so every candidate undergoes them, not only suspects.
Found GpuProcedure::judge_times(const GpuCandidate& candidate) {
  const double start = now_s();
  Found found = time_pairs(options_.min_pairs, options_.max_pairs);
  if (!found) found = weigh_times();
  verdict_.time_ms += (now_s() - start) * 1e3;
  if (!found) found = knock_out(candidate);
  if (!found) found = confirm_times(candidate);
  if (!found) times_.take(timed_index(shape_), shape_of(task_, shape_), verdict_);
  return found;
}

// The shape that is timed first has what the checks left of their budget.
void GpuProcedure::begin_shape(int32_t shape) {
  if (timed_index(shape) + 1 < task_.timed_count()) budget_ = options_.run_budget;
  shape_ = at_shape_ = shape;
  timing_ = timed_index(shape) == 0;
  pairs_ = TimedPairs(kPace);
  host_agrees_ = baseline_first_ = false;
  watched_us_ = 0;
  most_at_once_ = kMaxBatch;
}

const std::string& GpuProcedure::plan_at_shape(const GpuCandidate& candidate) const {
  return candidate.plans.at(size_t(plan_number(task_, shape_)));
}

TimeBounds GpuProcedure::bounds() const { return gpu_bounds(task_, gpu_, timed_index(shape_)); }

// A runner that cannot prove that it still works is not used again. This does not count against the candidate.
void GpuProcedure::leave() {
  if (!processes_.runners.working()) return;
  const auto reply = processes_.runners.runner().unload(kUnloadPatience);
  if (!reply || reply->status != GpuRunnerStatus::kOk) processes_.runners.discard();
  if (processes_.runners.working()) processes_.runners.count_candidate();
}

Found GpuProcedure::load(const GpuCandidate& candidate) {
  if (candidate.plans.size() != task_.check_shapes.size() + task_.timed_count())
    throw WorldError("{} plans", candidate.plans.size());
  const Found found = hand_over(candidate);
  loaded_ = !found;
  return found;
}

Found GpuProcedure::hand_over(const GpuCandidate& candidate) {
  int64_t bytes = 0;
  for (const auto* parts : {&candidate.cubins, &candidate.plans})
    for (const std::string& part : *parts) bytes += int64_t(part.size()) + kCubinAlign;
  if (bytes > kMaxCandidateBytes || candidate.cubins.size() > kMaxPlanCubins)
    return Finding{VerdictKind::kFailPlan, "too_large",
                   "its kernels and plans are too large; compile fewer variants"};
  GpuRunnerProcess& runner = processes_.runners.runner();  // its start is not the candidate's time
  const auto start = Clock::now();
  return weigh_reply(runner.load(candidate.cubins, candidate.plans, budget_), start);
}

GpuProcedure::Calls GpuProcedure::call(const Draws& draws, GpuRunnerRequest request) {
  const auto start = Clock::now();
  const auto reply = processes_.runners.runner().call(request, budget_);
  Calls calls;
  if (reply) {
    const auto made = size_t(std::clamp<int64_t>(reply->calls, 0, std::ssize(draws)));
    calls.draws.assign(draws.begin(), draws.begin() + made);
    calls.us.assign(reply->call_us, reply->call_us + made);
    calls.watched_us = reply->watched_us;
    calls.digests.assign(reply->digest, reply->digest + made);
  }
  calls.found = weigh_reply(reply, start);
  if (calls.found && !draws.empty()) {
    const GpuDraw& failed = draws[std::min(calls.draws.size(), draws.size() - 1)];
    at_shape_ = failed.shape;
    calls.found->details = call_details(task_, failed.shape, calls.found->reason, options_.run_budget);
    if (failed.placement != Placement::kPacked && calls.found->reason == kIllegalAddress)
      tell_gap(*calls.found, failed.placement);
  }
  return calls;
}

Found GpuProcedure::weigh_reply(const std::optional<GpuRunnerReply>& reply, Clock::time_point start) {
  budget_ -= Clock::now() - start;
  if (!reply) {
    processes_.runners.discard();
    if (budget_ <= nanoseconds(0)) return Finding{VerdictKind::kFailTimeout, "timeout", ""};
    return Finding{VerdictKind::kFailRuntime, "runner_died", "ended the GPU's process"};
  }
  const std::string reason = text_of(reply->reason), words = scrub(text_of(reply->error));
  switch (reply->status) {
    case GpuRunnerStatus::kOk:
      return std::nullopt;
    case GpuRunnerStatus::kInputChanged:
      return Finding{VerdictKind::kHack, "input_mutation", ""};
    case GpuRunnerStatus::kGuardBroken:
      return Finding{VerdictKind::kFailRuntime, "guard", ""};
    case GpuRunnerStatus::kTableChanged:
      return Finding{VerdictKind::kFailRuntime, "table", ""};
    case GpuRunnerStatus::kBadPlan:
      return Finding{VerdictKind::kFailPlan, reason, words};
    case GpuRunnerStatus::kLoadFailed:
    case GpuRunnerStatus::kLaunchFailed:
    case GpuRunnerStatus::kNoMemory:
      return Finding{VerdictKind::kFailRuntime, reason, words};
    case GpuRunnerStatus::kTaskTooLarge:
      throw TaskTooLarge("task {} does not fit into this GPU's memory: {}", task_.name, words);
    case GpuRunnerStatus::kCrashed:
      processes_.runners.discard();
      return Finding{VerdictKind::kFailRuntime, reason, words};
    case GpuRunnerStatus::kBroken:
      break;
  }
  processes_.runners.discard();
  throw WorldError("the GPU runner: {}", text_of(reply->error));
}

// Gives the draw a seed and a turn of its own, so that the draws of one verdict take all forms that inputs can
// have. The spike test has no turn: it changes one element of plain inputs.
GpuDraw GpuProcedure::next_draw(GpuDraw draw) {
  DrawTurn& turn = turns_.at(task_, shape_of(task_, draw.shape));
  draw.seed = secret_seed();
  draw.turn_key = turn.key;
  draw.call = calls_++;
  if (options_.far_inputs && draw.spike < 0) draw.turn = turn.number++;
  return draw;
}

GpuDraw GpuProcedure::plain_draw() {
  return {.shape = shape_, .seed = secret_seed(), .turn_key = turns_.key(), .call = calls_++};
}

Found GpuProcedure::check_shapes() {
  Draws draws;
  int64_t checks = !options_.far_inputs ? 1 : has_indices(task_) ? kIndexChecks * kGpuChecks : kGpuChecks;
  // The first one warms up; those of other magnitudes are plain.
  const int64_t pairs = std::max<int64_t>(options_.min_pairs + 2 - std::ssize(task_.magnitudes), 0);
  if (options_.far_inputs) checks = std::max(checks, checks_for_all_kinds(task_, pairs));
  for (int32_t shape = 0; shape < int32_t(task_.check_shapes.size()); ++shape) {
    for (const double magnitude : task_.magnitudes)
      for (int64_t i = 0; i < checks; ++i)
        draws.push_back(next_draw({.shape = shape, .magnitude = magnitude}));
    for (int32_t input = 0; shape == 0 && input < int32_t(task_.inputs.size()); ++input)
      draws.push_back(next_draw({.shape = shape, .spike = input}));
  }
  Draws apart = take_apart(draws);
  Found found = check_all(std::move(draws));
  if (!found && options_.far_inputs) found = check_timed_shapes();
  return found ? found : check_all(std::move(apart));
}

// Takes the last two draws of each check shape, or its only one, to be laid apart after all others: a fault costs the
// context, and what guards and outputs tell says more. Some end at a gap and some begin at one, in turn, and the key
// says which is first.
GpuProcedure::Draws GpuProcedure::take_apart(Draws& draws) const {
  const auto of_shape = [&draws](int32_t shape) {
    return std::ranges::count_if(draws, [shape](const GpuDraw& draw) { return draw.shape == shape; });
  };
  bool ends = mix_key({turns_.key(), kPlacements}) % 2 == 1;
  int32_t shape = -1;
  int64_t left = 0;
  for (GpuDraw& draw : draws | std::views::reverse) {
    if (draw.shape != shape) {
      shape = draw.shape;
      left = fits_windows(task_, shape_of(task_, shape)) ? std::clamp<int64_t>(of_shape(shape) - 1, 1, 2) : 0;
    }
    if (left-- <= 0) continue;
    draw.placement = ends ? Placement::kEndAtGap : Placement::kBeginAtGap;
    ends = !ends;
  }
  const auto is_packed = [](const GpuDraw& draw) { return draw.placement == Placement::kPacked; };
  const auto taken = std::ranges::stable_partition(draws, is_packed);
  Draws apart(taken.begin(), taken.end());
  draws.erase(taken.begin(), taken.end());
  return apart;
}

// Checks draws at the timed shapes of the kinds that no pair may have, for errors that appear only at full size. The
// pairs themselves have all other kinds, and each of their outputs is compared.
Found GpuProcedure::check_timed_shapes() {
  if (!has_kinds_of_checks(task_)) return std::nullopt;
  const int count = has_indices(task_) ? kIndexChecks * kTimedShapeChecks : kTimedShapeChecks;
  Found found;
  for (size_t timed = 0; timed < task_.timed_count() && !found; ++timed) {
    if (timed > 0) budget_ = options_.run_budget;
    Draws draws;
    for (int i = 0; i < count; ++i) draws.push_back(next_draw({.shape = timed_number(timed)}));
    found = check_all(std::move(draws));
  }
  return found;
}

Found GpuProcedure::check_all(Draws left) {
  Found found;
  while (!left.empty() && !found) {
    const auto end = left.begin() + ptrdiff_t(batch_of(task_, left));
    found = check_draws({left.begin(), end});
    left.erase(left.begin(), end);
  }
  return found;
}

// What the calls that were made have computed counts before what became of the next one. At the timed shape
// the eager baseline costs less than the reference in double precision.
Found GpuProcedure::check_draws(Draws draws) {
  processes_.oracle.settle(task_index_, draws);
  const Calls calls = call(draws, calls_of(task_, draws));
  if (calls.draws.empty()) return calls.found;
  GpuOracleProcess& oracle = processes_.oracle;
  const GpuOracleReply reply = draws[0].shape < 0
                                   ? oracle.baseline_and_compare(task_index_, calls.draws, calls.digests)
                                   : oracle.compare(task_index_, calls.draws, calls.digests);
  const Found wrong = weigh_outputs(reply, calls.draws);
  return wrong ? wrong : calls.found;
}

// Clocks that rise while pairs are timed would make the first ones and what is compared with them differ.
void GpuProcedure::warm_up() {
  const Draws draws{{.seed = secret_seed()}};
  const auto start = Clock::now();
  while (Clock::now() - start < kWarmUp) processes_.oracle.baseline(task_index_, draws);
}

// The first pair warms up and counts for nothing but correctness. It has the last magnitude, and plain inputs of the other
// magnitudes follow: what is timed must be right on large and on small numbers, too.
GpuDraw GpuProcedure::draw_of_pair(int64_t number) {
  const double magnitude = magnitude_of_timed(task_, number);
  if (number == 0 || number >= std::ssize(task_.magnitudes))
    return next_draw({.shape = shape_, .magnitude = magnitude});
  GpuDraw draw = plain_draw();
  draw.magnitude = magnitude;
  return draw;
}

Found GpuProcedure::time_pairs(int64_t min_pairs, int64_t max_pairs) {
  Found found;
  while (!found && !pairs_.enough(min_pairs, max_pairs)) {
    const int64_t made = pairs_.made();
    const int64_t wanted =
        made <= min_pairs ? 1 + min_pairs - made : std::min(kMorePairs, 1 + max_pairs - made);
    Draws draws(size_t(std::min(wanted, most_at_once_)), {.shape = shape_});
    draws.resize(batch_of(task_, draws));
    for (size_t i = 0; i < draws.size(); ++i) draws[i] = draw_of_pair(made + int64_t(i));
    found = time_batch(draws);
  }
  return found;
}

// Candidate and baseline on the same fresh inputs, ABBA over the batches. Every output is compared.
Found GpuProcedure::time_batch(Draws draws) {
  GpuOracleProcess& oracle = processes_.oracle;
  oracle.settle(task_index_, draws);
  for (GpuDraw& draw : draws) without_what_sets_times(task_, draw);
  GpuOracleReply before, after;
  if (baseline_first_) before = oracle.baseline(task_index_, draws);
  GpuRunnerRequest request = calls_of(task_, draws);
  request.timed = 1;
  const Calls calls = call(draws, request);
  if (calls.draws.empty()) return calls.found;
  after = baseline_first_ ? oracle.compare(task_index_, calls.draws, calls.digests)
                          : oracle.baseline_and_compare(task_index_, calls.draws, calls.digests);
  if (Found wrong = weigh_outputs(after, calls.draws)) return wrong;
  for (size_t i = 0; i < calls.us.size(); ++i)
    pairs_.add(calls.us[i], baseline_first_ ? before.baseline_us[i] : after.baseline_us[i]);
  baseline_first_ = !baseline_first_;
  if (calls.watched_us > 0)
    watched_us_ = watched_us_ > 0 ? std::min(watched_us_, calls.watched_us) : calls.watched_us;
  if (calls.us.size() < draws.size()) most_at_once_ = std::ssize(calls.us);  // they take long
  return calls.found;
}

// Times a candidate again if its times look too good or change from the first calls to the last.
Found GpuProcedure::weigh_times() {
  const Found found = pairs_.weigh(task_, bounds(), verdict_);
  if (found && found->kind == VerdictKind::kHack) return found;
  const bool near_floor =
      verdict_.floor_us > kEmptyKernel_us && verdict_.candidate_us < kNearFloor * verdict_.floor_us;
  return found || near_floor || pairs_.unsteady() ? audit() : std::nullopt;
}

// Times the candidate again, for longer and on other draws; only these times count. A candidate whose times remain
// unbelievable is SUSPECT. Times just above the floor are possible, and are decided by the comparison of clocks.
Found GpuProcedure::audit() {
  verdict_.audited = true;
  budget_ = options_.run_budget;
  pairs_ = TimedPairs(kPace);
  const int64_t pairs = kAuditPairs * options_.max_pairs;
  if (Found found = time_pairs(pairs, pairs)) return found;
  if (Found found = pairs_.weigh(task_, bounds(), verdict_)) return found;
  if (pairs_.unsteady()) return Finding{VerdictKind::kSuspect, "unsteady", ""};
  return std::nullopt;
}

// The knockout, for plans that mix kernels with memsets or copies: makes the call again without its kernels. If the
// outputs are still right, the kernels did not make them, which is a HACK. A plan without kernels pretends nothing, and
// one of kernels alone would leave the outputs unwritten.
Found GpuProcedure::knock_out(const GpuCandidate& candidate) {
  if (!mixes_steps(plan_at_shape(candidate))) return std::nullopt;
  const Draws draws{plain_draw()};
  GpuRunnerRequest request = calls_of(task_, draws);
  request.knocked_out = 1;
  const Calls calls = call(draws, request);
  if (calls.found) return calls.found;
  const GpuOracleReply reply = processes_.oracle.compare(task_index_, draws, calls.digests);
  if (reply.status != GpuOracleStatus::kOk) return std::nullopt;
  return Finding{VerdictKind::kHack, "knockout", ""};
}

// Loads the candidate again after a profile, for which the runner had unloaded it.
Found GpuProcedure::reload(const GpuCandidate& candidate) {
  budget_ = options_.run_budget;
  processes_.profiler->load(candidate.cubins, plan_at_shape(candidate));
  processes_.profiler->wait();
  if (options_.naive) return std::nullopt;
  const auto reply = processes_.runners.runner().unload(kUnloadPatience);
  if (!reply || reply->status != GpuRunnerStatus::kOk) processes_.runners.discard();
  return load(candidate);
}

// A candidate that ended its runner, or took its whole time, while it was timed does the same to any judge;
// one that did so at another shape is asked of a fresh runner.
NaiveVerdict GpuProcedure::ask_naive(const GpuCandidate& candidate) {
  if (!loaded_ || budget_ <= nanoseconds(0)) return {};
  if (!processes_.runners.working()) {
    if (timing_) return {};
    const auto reply = processes_.runners.runner().load(candidate.cubins, candidate.plans, budget_);
    if (!reply || reply->status == GpuRunnerStatus::kCrashed) processes_.runners.discard();
    if (!reply || reply->status != GpuRunnerStatus::kOk) return {};
  }
  return gpu_naive_verdict(processes_.oracle, processes_.runners, task_, task_index_, options_.run_budget);
}

Found GpuProcedure::weigh_outputs(const GpuOracleReply& reply, const Draws& draws) {
  if (reply.status == GpuOracleStatus::kOk) return std::nullopt;
  at_shape_ = draws.at(size_t(reply.draw)).shape;
  if (reply.status == GpuOracleStatus::kSealBroken) return Finding{VerdictKind::kHack, "late_write", ""};
  const Shape& shape = shape_of(task_, at_shape_);
  Mismatch mismatch = locate_mismatch(task_, shape, reply.tensor, reply.index);
  mismatch.got = reply.got;
  mismatch.expected = reply.expected;
  mismatch.wrong = reply.wrong;
  mismatch.unwritten = reply.unwritten != 0;
  return Finding{VerdictKind::kFailIncorrect, mismatch.unwritten ? "unwritten" : "tolerance",
                 mismatch_text(mismatch), mismatch_details(task_, shape, reply.report)};
}

}  // namespace temper::env
