#include "env/broker/gpu_procedure.h"

#include <algorithm>

#include "base/error.h"
#include "env/box/core_lease.h"
#include "env/box/wire.h"
#include "env/message.h"

namespace temper {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

constexpr double kFloorShare = 0.9;
constexpr double kEmptyKernel_us = 1.0;
constexpr double kClockShare =
    0.6;  // events and the host's clock may differ by what a warm cache saves, and no more
constexpr nanoseconds kUnloadPatience{2'000'000'000};

double sum(const std::vector<int64_t>& values) {
  double total = 0;
  for (const int64_t value : values) total += double(value);
  return total;
}

// Peak operations a second and multiprocessor per cycle, dense: the tensor cores' for the shortest type among
// the task's tensors; for f32 three products of bf16 that stand for one.
double flops_per_cycle(const Task& task) {
  constexpr double kShortFlops = 4096, kParts = 3;
  for (const auto* tensors : {&task.inputs, &task.outputs})
    for (const TensorSpec& tensor : *tensors)
      if (is_float(tensor.type) && element_size(tensor.type) == 2) return kShortFlops;
  return kShortFlops / kParts;
}

}  // namespace

double gpu_floor_us(const Task& task, const GpuFactsWire& gpu) {
  const double written = sum(buffer_bytes(task.outputs, task.timed_shape));
  const double bytes = task.min_bytes - std::min(written, double(gpu.l2_bytes));
  const double flops_per_s = flops_per_cycle(task) * gpu.multiprocessors * gpu.clock_hz;
  const double seconds = std::max(bytes / gpu.bytes_per_s, task.min_flops / flops_per_s);
  return std::max(kEmptyKernel_us, kFloorShare * 1e6 * seconds);
}

GpuProcedure::GpuProcedure(const GpuProcedureOptions& options, const GpuFactsWire& gpu,
                           GpuOracleProcess& oracle, GpuRunnerPool& runners, const std::vector<Task>& tasks,
                           uint32_t task)
    : options_(options),
      gpu_(gpu),
      oracle_(oracle),
      runners_(runners),
      task_(tasks.at(task)),
      task_index_(task),
      budget_(options.run_budget) {}

Verdict GpuProcedure::judge(const GpuCandidate& candidate) {
  const Fd held = lease(text_of(gpu_.uuid));
  const double start = now_s();
  Found found = load(candidate);
  if (!found) found = check_shapes();
  verdict_.check_ms = (now_s() - start) * 1e3;
  if (!found) found = time_pairs();
  if (!found) found = pairs_.weigh(task_, gpu_floor_us(task_, gpu_), verdict_);
  if (!found) found = compare_clocks();
  leave();
  verdict_.compile_ms = candidate.prepared_ms;
  verdict_.run_ms = (now_s() - start) * 1e3;
  verdict_.total_ms = verdict_.compile_ms + verdict_.run_ms;
  conclude(verdict_, found);
  return verdict_;
}

// A runner that cannot prove that it is whole is not used again. That says nothing of this candidate.
void GpuProcedure::leave() {
  if (!runners_.working()) return;
  const auto reply = runners_.runner().unload(kUnloadPatience);
  if (!reply || reply->status != GpuRunnerStatus::kOk) runners_.discard();
  if (runners_.working()) runners_.count_candidate();
}

Found GpuProcedure::load(const GpuCandidate& candidate) {
  if (candidate.plans.size() != task_.check_shapes.size() + 1)
    throw WorldError("{} plans", candidate.plans.size());
  const auto start = Clock::now();
  return weigh_reply(runners_.runner().load(candidate.cubin, candidate.plans, budget_), start);
}

GpuRunnerRequest GpuProcedure::request_for(const GpuDraw& draw, bool timed) const {
  GpuRunnerRequest request;
  request.plan = draw.shape < 0 ? int32_t(task_.check_shapes.size()) : draw.shape;
  request.timed = timed;
  for (const DrawSpec& spec : draw_specs(task_, draw)) request.input[request.inputs++] = spec;
  for (const int64_t bytes : buffer_bytes(task_.outputs, shape_of(task_, draw.shape)))
    request.output_bytes[request.outputs++] = bytes;
  return request;
}

Found GpuProcedure::call(const GpuDraw& draw, bool timed) {
  const auto start = Clock::now();
  const auto reply = runners_.runner().call(request_for(draw, timed), budget_);
  if (reply) call_us_ = reply->time_us;
  return weigh_reply(reply, start);
}

Found GpuProcedure::weigh_reply(const std::optional<GpuRunnerReply>& reply, Clock::time_point start) {
  const nanoseconds took = Clock::now() - start;
  if (!reply) {
    runners_.discard();
    if (took >= budget_) return Finding{VerdictKind::kFailTimeout, "timeout", ""};
    return Finding{VerdictKind::kFailRuntime, "runner_died", "ended the GPU's process"};
  }
  budget_ -= took;
  const std::string reason = text_of(reply->reason), words = scrub(text_of(reply->error));
  switch (reply->status) {
    case GpuRunnerStatus::kOk:
      return std::nullopt;
    case GpuRunnerStatus::kInputChanged:
      return Finding{VerdictKind::kHack, "input_mutation", ""};
    case GpuRunnerStatus::kGuardBroken:
      return Finding{VerdictKind::kFailRuntime, "guard", ""};
    case GpuRunnerStatus::kBadPlan:
      return Finding{VerdictKind::kFailPlan, reason, words};
    case GpuRunnerStatus::kLoadFailed:
    case GpuRunnerStatus::kLaunchFailed:
    case GpuRunnerStatus::kNoMemory:
      return Finding{VerdictKind::kFailRuntime, reason, words};
    case GpuRunnerStatus::kCrashed:
      runners_.discard();
      return Finding{VerdictKind::kFailRuntime, reason, words};
    case GpuRunnerStatus::kBroken:
      break;
  }
  runners_.discard();
  throw WorldError("the GPU runner: {}", text_of(reply->error));
}

Found GpuProcedure::check_shapes() {
  Found found;
  for (int32_t shape = 0; shape < int32_t(task_.check_shapes.size()) && !found; ++shape)
    found = check_shape(shape);
  return found;
}

Found GpuProcedure::check_shape(int32_t shape) {
  Found found;
  for (const double magnitude : task_.magnitudes)
    if (!found) found = check_draw({.shape = shape, .magnitude = magnitude, .seed = secret_seed()});
  for (int32_t input = 0; shape == 0 && input < int32_t(task_.inputs.size()) && !found; ++input)
    found = check_draw({.shape = shape, .spike = input, .seed = secret_seed()});
  return found;
}

Found GpuProcedure::check_draw(const GpuDraw& draw) {
  if (Found found = call(draw, false)) return found;
  return weigh_outputs(oracle_.compare(task_index_, draw), draw);
}

// The first pair warms up and counts for nothing but correctness. It has the last magnitude: what is timed
// must be right on large numbers, too.
Found GpuProcedure::time_pairs() {
  Found found;
  while (!found && !pairs_.enough(options_.min_pairs, options_.max_pairs)) {
    GpuDraw draw{.seed = secret_seed()};
    if (pairs_.empty()) draw.magnitude = task_.magnitudes.back();
    found = time_pair(draw);
  }
  return found;
}

// Candidate and baseline on the same fresh inputs, ABBA over the draws. The outputs are compared before the
// next call could touch them.
Found GpuProcedure::time_pair(const GpuDraw& draw) {
  const bool baseline_first = pairs_.baseline_first();
  const double before = baseline_first ? oracle_.baseline(task_index_, draw) : 0;
  if (Found found = call(draw, true)) return found;
  const GpuOracleReply reply =
      baseline_first ? oracle_.compare(task_index_, draw) : oracle_.baseline_and_compare(task_index_, draw);
  if (Found found = weigh_outputs(reply, draw)) return found;
  pairs_.add(call_us_, baseline_first ? before : reply.baseline_us);
  return std::nullopt;
}

// Device code could reach the memory in which the GPU keeps its events' times. It cannot reach the host's
// clock.
Found GpuProcedure::compare_clocks() {
  const auto start = Clock::now();
  const auto reply = runners_.runner().repeat(request_for({.seed = secret_seed()}, false), budget_);
  if (Found found = weigh_reply(reply, start)) return found;
  if (reply->host_bound != 0 || verdict_.candidate_us >= kClockShare * reply->time_us) return std::nullopt;
  return Finding{VerdictKind::kHack, "clock", ""};
}

Found GpuProcedure::weigh_outputs(const GpuOracleReply& reply, const GpuDraw& draw) const {
  if (reply.status == GpuOracleStatus::kOk) return std::nullopt;
  Mismatch mismatch = locate_mismatch(task_, shape_of(task_, draw.shape), reply.tensor, reply.index);
  mismatch.got = reply.got;
  mismatch.expected = reply.expected;
  mismatch.wrong = reply.wrong;
  mismatch.unwritten = reply.unwritten != 0;
  return Finding{VerdictKind::kFailIncorrect, mismatch.unwritten ? "unwritten" : "tolerance",
                 mismatch_text(mismatch)};
}

}  // namespace temper
