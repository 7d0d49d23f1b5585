#include "env/broker/procedure.h"

#include <sys/random.h>

#include <algorithm>

#include "base/error.h"
#include "env/box/case_memory.h"
#include "env/box/core_lease.h"
#include "env/message.h"

namespace temper {
namespace {

using std::chrono::nanoseconds;

constexpr int32_t kTimedShape = -1;
constexpr int32_t kSpikes = 4;          // draws of the spike test, the unchanged one included
constexpr double kLeastTime_us = 0.05;

bool is_poison(const uint8_t* element, size_t bytes) {
  return std::all_of(element, element + bytes, [](uint8_t byte) { return byte == kPoisonByte; });
}

VerdictKind kind_of_call_failure(const std::string& reason) {
  return reason == "timeout" ? VerdictKind::kFailTimeout : VerdictKind::kFailRuntime;
}

int64_t total_bytes(const CaseLayout& layout) {
  int64_t bytes = 0;
  for (const auto* buffers : {&layout.inputs, &layout.outputs})
    for (const Buffer& buffer : *buffers) bytes += buffer.bytes;
  return bytes;
}

}  // namespace

double microseconds(nanoseconds time) { return std::max(double(time.count()) * 1e-3, kLeastTime_us); }

uint64_t secret_seed() {
  uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) != ssize_t(sizeof seed)) throw system_error("draw a random seed");
  return seed;
}

Procedure::Procedure(const ProcedureOptions& options, const Toolchain& tools, const Roofs& roofs,
                     EmptyCalls& empty, OracleProcess& oracle, RunnerProcess& runner,
                     const std::vector<Task>& tasks, uint32_t task)
    : options_(options),
      tools_(tools),
      roofs_(roofs),
      empty_(empty),
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
    found = load_object();
    if (!found) found = check_shapes();
    if (!found) found = time_pairs();
    if (!found) found = weigh_times();
    verdict_.run_ms = (now_s() - run_start) * 1e3;
  }
  verdict_.total_ms = (now_s() - start) * 1e3;
  verdict_.kind = found ? found->kind : VerdictKind::kPass;
  verdict_.reason = found ? found->reason : "";
  verdict_.message = verdict_message(verdict_, found ? found->detail : "");
  return verdict_;
}

Procedure::Found Procedure::compile_source(const std::string& source) {
  const Language& language = find_language(task_.language);
  const auto compiled =
      compile(tools_, language.translation_unit(task_, source), options_.compile, options_.user);
  // What the compiler says as it runs out of memory is not what the candidate could mend.
  const bool quota = compiled.reason == "compile_quota";
  if (!compiled.ok)
    return Finding{compiled.reason == "no_entry_point" ? VerdictKind::kFailParse : VerdictKind::kFailCompile,
                   compiled.reason, quota ? "" : first_compiler_error(compiled.diagnostics)};
  object_ = compiled.object;
  return std::nullopt;
}

Procedure::Found Procedure::load_object() {
  runner_.wait_ready();
  empty_.runner = std::min(empty_.runner, runner_.null_call_time());
  std::string detail;
  const std::string failed = runner_.load(object_, options_.run_budget, detail);
  if (failed.empty()) return std::nullopt;
  return Finding{kind_of_call_failure(failed), failed, scrub(detail)};
}

Procedure::Found Procedure::check_shapes() {
  Found found;
  for (int32_t shape = 0; shape < int32_t(task_.check_shapes.size()) && !found; ++shape)
    found = check_shape(shape);
  return found;
}

Procedure::Found Procedure::check_shape(int32_t shape) {
  use_shape(shape);
  DrawRequest request{.task = task_index_, .shape = shape};
  Found found;
  for (const double magnitude : task_.magnitudes) {
    request.magnitude = magnitude;
    if (!found) found = check_draws(request);
  }
  if (found || shape > 0) return found;
  return check_draws({.task = task_index_, .shape = shape, .count = kSpikes, .perturb = true});
}

Procedure::Found Procedure::check_draws(const DrawRequest& wanted) {
  DrawRequest request = wanted;
  request.seed = secret_seed();
  oracle_.draw(request);
  Found found;
  for (int32_t draw = 0; draw < request.count && !found; ++draw) {
    found = call_candidate(draw);
    if (!found) found = compare_outputs(draw);
  }
  return found;
}

// The first draw warms up and counts for nothing but correctness. It and the next have the last magnitude:
// what is timed must be right on large numbers, too.
Procedure::Found Procedure::time_pairs() {
  use_shape(kTimedShape);
  Found found;
  for (int32_t count = 2; !found; count = kMaxDraws) {
    found = time_draws(count);
    if (enough_pairs(ratios_, options_.min_pairs, options_.max_pairs)) break;
  }
  return found;
}

Procedure::Found Procedure::time_draws(int32_t count) {
  DrawRequest request{.task = task_index_, .shape = kTimedShape, .count = count, .seed = secret_seed()};
  if (candidate_us_.empty()) request.magnitude = task_.magnitudes.back();
  oracle_.draw(request);
  oracle_.begin_serving();
  empty_.oracle = std::min(empty_.oracle, oracle_.null_call_time());
  Found found;
  int32_t drawn = 0;
  while (drawn < count && !found && !enough_pairs(ratios_, options_.min_pairs, options_.max_pairs))
    found = time_pair(drawn++);
  oracle_.end_serving();
  for (int32_t draw = 0; draw < drawn && !found; ++draw) found = compare_outputs(draw);
  return found;
}

// Candidate and baseline on the same fresh inputs, which the broker has just touched for each: ABBA over the
// draws.
Procedure::Found Procedure::time_pair(int32_t draw) {
  const bool baseline_first = candidate_us_.size() % 2 == 1;
  nanoseconds baseline{0};
  if (baseline_first) {
    prepare_case(runner_.arena(), oracle_case(draw), layout_);
    baseline = oracle_.baseline(draw);
  }
  if (Found found = call_candidate(draw)) return found;
  const nanoseconds candidate = runner_.call_time();
  if (!baseline_first) baseline = oracle_.baseline(draw);
  candidate_us_.push_back(microseconds(candidate - empty_.runner));
  baseline_us_.push_back(microseconds(baseline - empty_.oracle));
  if (candidate_us_.size() > 1) ratios_.push_back(baseline_us_.back() / candidate_us_.back());
  return std::nullopt;
}

Procedure::Found Procedure::weigh_times() {
  const Interval speedup = median_interval(ratios_);
  const double bytes = task_.min_bytes > 0 ? task_.min_bytes : double(total_bytes(layout_));
  verdict_.candidate_us = median({candidate_us_.begin() + 1, candidate_us_.end()});
  verdict_.baseline_us = median({baseline_us_.begin() + 1, baseline_us_.end()});
  verdict_.speedup = speedup.median;
  verdict_.speedup_low = speedup.low;
  verdict_.speedup_high = speedup.high;
  verdict_.pairs = int64_t(ratios_.size());
  verdict_.floor_us = floor_us(bytes, task_.min_flops, roofs_);
  if (verdict_.candidate_us < verdict_.floor_us) return Finding{VerdictKind::kHack, "floor", ""};
  if (task_.max_speedup > 0 && speedup.median > task_.max_speedup)
    return Finding{VerdictKind::kSuspect, "max_speedup", ""};
  return std::nullopt;
}

Procedure::Found Procedure::call_candidate(int32_t draw) {
  prepare_case(runner_.arena(), oracle_case(draw), layout_);
  const std::string failed = runner_.call(arguments_);
  if (!failed.empty()) return Finding{kind_of_call_failure(failed), failed, ""};
  const std::string broken = collect_case(runner_.arena(), oracle_case(draw), layout_);
  if (broken == "input_mutation") return Finding{VerdictKind::kHack, broken, ""};
  if (!broken.empty()) return Finding{VerdictKind::kFailRuntime, broken, ""};
  return std::nullopt;
}

Procedure::Found Procedure::compare_outputs(int32_t draw) {
  const OracleReply reply = oracle_.compare(draw);
  if (reply.status == OracleStatus::kOk) return std::nullopt;
  Mismatch mismatch = locate_mismatch(task_, *shape_, reply.tensor, reply.index);
  mismatch.got = reply.got;
  mismatch.expected = reply.expected;
  mismatch.wrong = reply.wrong;
  const size_t size = element_size(task_.outputs[size_t(reply.tensor)].type);
  const uint8_t* output = oracle_case(draw) + layout_.outputs[size_t(reply.tensor)].offset;
  mismatch.unwritten = is_poison(output + size_t(reply.index) * size, size);
  return Finding{VerdictKind::kFailIncorrect, mismatch.unwritten ? "unwritten" : "tolerance",
                 mismatch_text(mismatch)};
}

void Procedure::use_shape(int32_t shape) {
  shape_ = shape == kTimedShape ? &task_.timed_shape : &task_.check_shapes[size_t(shape)];
  layout_ = case_layout(task_, *shape_);
  arguments_ = {};
  for (const auto* buffers : {&layout_.inputs, &layout_.outputs})
    for (const Buffer& buffer : *buffers) arguments_.tensor_offsets.push_back(buffer.offset);
  arguments_.dims = dim_arguments(task_, *shape_);
}

}  // namespace temper
