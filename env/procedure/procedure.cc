#include "env/procedure/procedure.h"

#include <algorithm>

#include "base/error.h"
#include "base/rng.h"
#include "env/box/case_memory.h"
#include "env/box/core_lease.h"
#include "env/verdict/details.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

using std::chrono::nanoseconds;

constexpr const char* kSegmentationFault = "signal_11";
// Draws of the spike test, including the unchanged one. A candidate that recognises a draw by some of its elements
// escapes only if every spike falls on one of these.
constexpr int32_t kSpikes = kDrawsAtOnce;
constexpr int32_t kChecks = 4;   // draws of each check shape and magnitude
constexpr int kTimedRounds = 2;  // rounds of kDrawsAtOnce draws: an input has about eleven kinds of forms
constexpr int64_t kFilledBeyond = 4096;  // bytes behind the last guard
constexpr int kEmptyCalls = 2;           // before each timed call
constexpr int kWarmCalls = 7;            // before the calls of some draws
constexpr int kWarmBaselines = 8;        // at most
constexpr double kWarm = 0.9, kNoNeedToWarm_us = 1000;
constexpr int kRoofs = 20;  // measurements before a floor is held against a candidate

VerdictKind kind_of_call_failure(const std::string& reason) {
  return reason == "timeout" ? VerdictKind::kFailTimeout : VerdictKind::kFailRuntime;
}

// The bytes that any right answer must read and write. If indices choose what is read, they may all be equal, and then
// little more than the indices themselves must be read.
double least_bytes(const Task& task, double min_bytes, const CallLayout& layout) {
  const auto is_index = [](const TensorSpec& input) { return input.distribution == Distribution::kIndex; };
  const bool picked = std::ranges::any_of(task.inputs, is_index);
  if (min_bytes > 0 && !picked) return min_bytes;
  int64_t bytes = 0;
  for (size_t i = 0; i < layout.inputs.size(); ++i)
    if (!picked || is_index(task.inputs[i])) bytes += layout.inputs[i].bytes;
  for (const Buffer& output : layout.outputs) bytes += output.bytes;
  return double(bytes);
}

}  // namespace

EmptyCall::EmptyCall(const std::vector<CallTime>& trusted) {
  std::vector<double> times;
  for (const CallTime& call : trusted) times.push_back(microseconds(call.counted()));
  if (!times.empty()) most_us_ = median(times);
}

double EmptyCall::us(const std::vector<CallTime>& beside) const {
  double us = most_us_;
  for (const CallTime& call : beside) us = std::min(us, microseconds(call.counted()));
  return us;
}

double microseconds(nanoseconds time) { return double(time.count()) * 1e-3; }

Procedure::Procedure(const ProcedureOptions& options, const std::vector<Toolchain>& tools, Roofs& roofs,
                     OracleProcess& oracle, RunnerProcess& runner, const std::vector<Task>& tasks,
                     uint32_t task)
    : options_(options),
      tools_(tools),
      roofs_(roofs),
      oracle_(oracle),
      runner_(runner),
      task_(tasks.at(task)),
      task_index_(task) {}

Verdict Procedure::judge(const std::string& source) {
  const double start = now_s();
  Found found = compile_source(source);
  verdict_.compile_ms = (now_s() - start) * 1e3;
  if (!found) {
    const CoreLease lease(options_.core);
    const double run_start = now_s();
    turns_ = VerdictTurns(secret_seed());
    fill_ = {secret_seed(), 0};
    found = load_object();
    if (!found) found = check_shapes();
    if (!found) found = judge_times();
    if (found) tell_shape(*found, task_, shape_index_);
    verdict_.run_ms = (now_s() - run_start) * 1e3;
  }
  verdict_.total_ms = (now_s() - start) * 1e3;
  conclude(verdict_, found);
  return verdict_;
}

Found Procedure::compile_source(const std::string& source) {
  const Language& language = find_language(task_.language);
  const std::string unit = language.translation_unit(task_.parameters(), source);
  CompileResult compiled;
  for (const Toolchain& tools : tools_) {
    compiled = compile(tools, unit, options_.compile, options_.user);
    if (compiled.ok || compiled.reason != "compile_error") break;
  }
  // A compiler's messages as it runs out of memory do not help to fix the candidate.
  const bool quota = compiled.reason == "compile_quota";
  if (!compiled.ok)
    return Finding{compiled.reason == "no_entry_point" ? VerdictKind::kFailParse : VerdictKind::kFailCompile,
                   compiled.reason, quota ? "" : first_compiler_error(compiled.diagnostics),
                   compile_failure_details(compiled, options_.compile, source)};
  object_ = compiled.object;
  return std::nullopt;
}

Found Procedure::load_object() {
  runner_.wait_ready();
  empty_runner_ = EmptyCall(runner_.null_calls());
  std::string detail;
  const std::string failed = runner_.load(object_, options_.run_budget, detail);
  if (failed.empty()) return std::nullopt;
  return Finding{kind_of_call_failure(failed), failed, scrub(detail)};
}

Found Procedure::check_shapes() {
  Found found;
  for (int32_t shape = 0; shape < int32_t(task_.check_shapes.size()) && !found; ++shape)
    found = check_shape(shape);
  for (size_t i = 0; i < task_.timed_count() && !found; ++i) {
    if (i > 0) runner_.renew_budget(options_.run_budget);
    found = check_timed_shape(timed_number(i));
  }
  return found;
}

Found Procedure::check_shape(int32_t shape) {
  use_shape(shape);
  DrawRequest request{.task = task_index_, .shape = shape, .count = kChecks};
  Found found;
  for (const double magnitude : task_.magnitudes) {
    request.magnitude = magnitude;
    if (!found) found = check_draws(request);
  }
  if (found || shape > 0) return found;
  return check_draws({.task = task_index_, .shape = shape, .count = kSpikes, .perturb = true});
}

// Checks further draws at a timed shape, for errors that appear only at full size and only in few forms of
// the inputs. The timed calls alone would be too few.
Found Procedure::check_timed_shape(int32_t shape) {
  use_shape(shape);
  Found found;
  for (int round = 0; round < kTimedRounds && !found; ++round)
    found = check_draws({.task = task_index_, .shape = shape, .count = kDrawsAtOnce});
  return found;
}

// Under a seed of their own, and in turn: the draws of one verdict take all forms that inputs have.
void Procedure::draw(DrawRequest request) {
  DrawTurn& turn = turns_.at(task_, shape_of(task_, request.shape));
  request.seed = secret_seed();
  request.turn = {turn.key, turn.number, request.turn.timed};
  if (!request.perturb) turn.number += request.count;
  oracle_.draw(request);
}

Found Procedure::check_draws(const DrawRequest& request) {
  draw(request);
  Found found;
  for (int32_t draw = 0; draw < request.count && !found; ++draw) {
    found = call_candidate(draw, placement_of(request, draw));
    if (!found) found = compare_outputs(draw);
  }
  return found;
}

// The last two draws lie apart, the key says which of them ends at a gap. Before them come packed ones: what their
// guards or outputs tell says more than a signal.
Placement Procedure::placement_of(const DrawRequest& request, int32_t draw) const {
  const int32_t left = request.count - draw;
  if (request.perturb || left > 2) return Placement::kPacked;
  const bool first_ends = mix_key({fill_.key, uint64_t(turns_.taken())}) % 2 == 1;
  return (left == 2) == first_ends ? Placement::kEndAtGap : Placement::kBeginAtGap;
}

// Each timed shape has pairs, bounds and attempts of its own.
Found Procedure::judge_times() {
  for (size_t i = 0; i < task_.timed_count(); ++i) {
    if (i > 0) runner_.renew_budget(options_.run_budget);
    if (Found found = judge_times_at(timed_number(i))) return found;
    times_.take(i, *shape_, verdict_);
  }
  times_.give(verdict_);
  return std::nullopt;
}

// If a busy machine may explain what the pairs show, they are measured again, with as much time as before. A candidate
// is not called a hack for times that the machine's own variation makes doubtful. It then keeps a wide interval: times
// that depend on the inputs, as in sorting, never agree.
Found Procedure::judge_times_at(int32_t shape) {
  use_shape(shape);
  Found found;
  for (int go = 0; go < kGoes; ++go) {
    verdict_.audited = go > 0;
    if (go > 0) runner_.renew_budget(options_.run_budget);
    pairs_ = TimedPairs();
    unmeasured_ = 0;
    if (Found failed = time_pairs()) return failed;
    found = weigh_times();
    const bool accused_once = found && go == 0;
    if (!accused_once && !pairs_.disagree()) return found;
  }
  if (!found) return found;
  throw WorldError("pairs of the same calls disagree: this core is too busy to time a candidate on");
}

// The first draw warms up and counts for nothing but correctness. It and the next have the last magnitude:
// what is timed must be right on large numbers, too.
Found Procedure::time_pairs() {
  Found found;
  for (int32_t count = 2; !found; count = kDrawsAtOnce) {
    found = time_draws(count);
    if (time_is_up()) break;
  }
  return found;
}

Found Procedure::time_draws(int32_t count) {
  DrawRequest request{.task = task_index_, .shape = shape_index_, .count = count, .turn = {.timed = true}};
  if (pairs_.empty()) request.magnitude = task_.magnitudes.back();
  draw(request);
  oracle_.begin_serving();
  empty_oracle_ = EmptyCall(oracle_.null_calls(kWarmCalls));
  warm_baseline();
  Found found;
  int32_t drawn = 0;
  while (drawn < count && !found && !time_is_up()) found = time_pair(drawn++);
  oracle_.end_serving();
  for (int32_t draw = 0; draw < drawn && !found; ++draw) found = compare_outputs(draw);
  return found;
}

// Calls the reference until a call is hardly faster than the previous one, because its first calls after other work
// take several times as long as later ones.
void Procedure::warm_baseline() {
  double last_us = 0;
  for (int call = 0; call < kWarmBaselines; ++call) {
    const double us = microseconds(oracle_.baseline(0).counted());
    if (us > kNoNeedToWarm_us || (call > 0 && us > kWarm * last_us)) return;
    last_us = us;
  }
}

// Errors: WorldError where no call can be told from an empty one.
bool Procedure::time_is_up() const {
  if (unmeasured_ > options_.max_pairs)
    throw WorldError("a call of it takes no longer than an empty one, which takes {:.1f} us", handover_us_);
  return pairs_.enough(options_.min_pairs, options_.max_pairs);
}

// Candidate and baseline on the same fresh inputs, which the broker has just touched for each: ABBA over the
// draws. A pair in which a call seems to take nothing beside its hand-over is no pair: another draw makes up
// for it.
Found Procedure::time_pair(int32_t draw) {
  const auto baseline_us = [&] {
    const double empty = empty_oracle_.us(oracle_.null_calls(kEmptyCalls));
    return microseconds(oracle_.baseline(draw).counted()) - empty;
  };
  if (Found found = calibrate()) return found;
  const bool baseline_first = pairs_.baseline_first();
  double baseline = 0;
  if (baseline_first) {
    prepare(draw, packed());
    baseline = baseline_us();
  }
  if (Found found = call_candidate(draw)) return found;
  const double candidate = microseconds(runner_.call_time().counted()) - handover_us_;
  if (!baseline_first) baseline = baseline_us();
  if (candidate > 0 && baseline > 0)
    pairs_.add(candidate, baseline);
  else
    ++unmeasured_;
  return std::nullopt;
}

// Empty calls in the same conditions as the timed one. They come before the inputs lie in the candidate's
// memory, so that nothing can be computed in them.
Found Procedure::calibrate() {
  std::vector<CallTime> calls;
  for (int call = 0; call < kEmptyCalls; ++call) {
    const std::string failed = runner_.call_nothing();
    if (!failed.empty()) return call_failure(kind_of_call_failure(failed), failed);
    calls.push_back(runner_.call_time());
  }
  handover_us_ = empty_runner_.us(calls);
  return std::nullopt;
}

// A core that was busy when its roofs were measured looks slower than it is: nobody is accused before they
// were measured again.
Found Procedure::weigh_times() {
  const TimedShape timed = task_.timed(timed_index(shape_index_));
  const double bytes = least_bytes(task_, timed.min_bytes, packed()), flops = timed.min_flops;
  const auto bounds = [&] {
    return TimeBounds{floor_us(bytes, flops, roofs_), roof_us(bytes, flops, roofs_)};
  };
  Found found = pairs_.weigh(task_, bounds(), verdict_);
  for (int again = 0; again < kRoofs && found && found->reason == "floor"; ++again) {
    roofs_ = higher(roofs_, measure_roofs());
    found = pairs_.weigh(task_, bounds(), verdict_);
  }
  return found;
}

void Procedure::prepare(int32_t draw, const CallLayout& laid) {
  TEMPER_CHECK(laid.bytes <= runner_.arena_bytes(), "{} bytes", laid.bytes);
  fills_[size_t(draw)] = fill_;
  const int64_t beyond = std::min(kFilledBeyond, runner_.arena_bytes() - laid.bytes) / 4 * 4;
  prepare_case({runner_.arena(), laid}, oracle_case(draw), packed(), fill_, beyond);
}

Found Procedure::call_candidate(int32_t draw, Placement placement) {
  const Laid& laid = laid_[size_t(placement)];
  ++fill_.call;
  prepare(draw, laid.layout);
  const std::string failed = runner_.call(laid.arguments);
  if (failed == kSegmentationFault && placement != Placement::kPacked)
    return fault_beside_gap(failed, placement);
  if (!failed.empty()) return call_failure(kind_of_call_failure(failed), failed);
  const std::string broken =
      collect_case({runner_.arena(), laid.layout}, oracle_case(draw), packed(), fills_[size_t(draw)]);
  if (broken == "input_mutation") return call_failure(VerdictKind::kHack, broken);
  if (!broken.empty()) return call_failure(VerdictKind::kFailRuntime, broken);
  return std::nullopt;
}

Finding Procedure::call_failure(VerdictKind kind, const std::string& reason) const {
  return {kind, reason, "", call_details(task_, shape_index_, reason, options_.run_budget)};
}

// The address could be asked of the candidate's own process alone, which is not believed. How the buffers lay is known.
Finding Procedure::fault_beside_gap(const std::string& reason, Placement placement) const {
  Finding found = call_failure(kind_of_call_failure(reason), reason);
  found.detail = words_of(reason);
  tell_gap(found, placement);
  return found;
}

Found Procedure::compare_outputs(int32_t draw) {
  const Fill fill = fills_[size_t(draw)];
  const OracleReply reply = oracle_.compare(draw, fill);
  if (reply.status == OracleStatus::kOk) return std::nullopt;
  Mismatch mismatch = locate_mismatch(task_, *shape_, reply.tensor, reply.index);
  mismatch.got = reply.got;
  mismatch.expected = reply.expected;
  mismatch.wrong = reply.wrong;
  const Buffer& output = packed().outputs[size_t(reply.tensor)];
  const int64_t word = output.offset / 4 + reply.index;
  const uint32_t* const left = reinterpret_cast<const uint32_t*>(oracle_case(draw)) + word;
  mismatch.unwritten =
      *left != 0 &&
      filled_words(fill, output.integers ? FillKind::kIntegers : FillKind::kFloats, word, 1, left);
  return Finding{VerdictKind::kFailIncorrect, mismatch.unwritten ? "unwritten" : "tolerance",
                 mismatch_text(mismatch), mismatch_details(task_, *shape_, reply.report)};
}

void Procedure::use_shape(int32_t shape) {
  shape_index_ = shape;
  shape_ = &shape_of(task_, shape);
  const CallLayout packed = case_layout(task_, *shape_);
  for (const Placement placement : {Placement::kPacked, Placement::kEndAtGap, Placement::kBeginAtGap}) {
    const CallLayout layout = placement == Placement::kPacked ? packed : apart(packed, placement);
    laid_[size_t(placement)] = {layout, arguments_of(task_, *shape_, layout)};
  }
}

}  // namespace temper::env
