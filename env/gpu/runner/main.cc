// temper-gpu-runner ORDINAL EXCHANGE_BYTES [profile]: executes the plans of one candidate after another, or profiles
// them. It is trusted: only a candidate's device code gets here, and damage to the context ends with this process.
//
// Profiling has a process of its own, so that nothing is attached to the process that takes times. If CUPTI damages a
// context, or a candidate damages CUPTI, only a profile is lost and not a verdict.

#include <chrono>
#include <cstdlib>
#include <optional>

#include "base/machine/surroundings.h"
#include "env/box/shared_memory.h"
#include "env/box/wire.h"
#include "env/gpu/runner/executor.h"

namespace temper::env {
namespace {

constexpr int kSocket = 3, kCandidate = 4, kExchange = 5;
constexpr auto kForEver = std::chrono::milliseconds(-1);

void fail(GpuRunnerReply& reply, GpuRunnerStatus status, std::string_view error,
          std::string_view reason = "") {
  reply.status = status;
  reason.copy(reply.reason, sizeof reply.reason - 1);
  error.copy(reply.error, sizeof reply.error - 1);
}

GpuFactsWire on_wire(const GpuFacts& facts) {
  GpuFactsWire wire;
  facts.name.copy(wire.name, sizeof wire.name - 1);
  facts.uuid.copy(wire.uuid, sizeof wire.uuid - 1);
  wire.capability = facts.capability;
  wire.multiprocessors = facts.multiprocessors;
  wire.driver = facts.driver;
  wire.memory_bytes = facts.memory_bytes;
  wire.l2_bytes = facts.l2_bytes;
  wire.bytes_per_s = facts.bytes_per_s;
  wire.clock_hz = facts.clock_hz;
  wire.target = facts.target;
  return wire;
}

// Returns the part of the memory that begins at `at` and has that many bytes, and moves `at` to its end.
std::string_view next_part(const Mapping& memory, int64_t& at, int64_t bytes) {
  if (bytes < 0 || at > memory.bytes() || bytes > memory.bytes() - at) throw WorldError("a bad request");
  const auto* begin = reinterpret_cast<const char*>(memory.data()) + at;
  at += bytes;
  return {begin, size_t(bytes)};
}

void load(Executor& executor, const GpuRunnerRequest& request, const Mapping& memory) {
  if (request.cubins < 0 || request.cubins > int32_t(kMaxPlanCubins) || request.plans < 0 ||
      request.plans > kMaxPlans)
    throw WorldError("a bad request");
  std::vector<std::string_view> cubins;
  std::vector<std::string> plans;
  int64_t at = 0;
  for (int32_t i = 0; i < request.cubins; ++i) {
    at = aligned(at, kCubinAlign);
    cubins.push_back(next_part(memory, at, request.cubin_bytes[i]));
  }
  for (int32_t i = 0; i < request.plans; ++i)
    plans.emplace_back(next_part(memory, at, request.plan_bytes[i]));
  executor.load(cubins, plans);
}

void unload(Executor& executor) {
  executor.unload();
  if (!executor.canary()) throw WorldError("the GPU does not compute what it should");
}

void check_counts(const GpuRunnerRequest& request) {
  bool good = request.calls >= 0 && request.calls <= kMaxBatch;
  for (const GpuCall& call : request.call)
    good = good && call.inputs >= 0 && call.inputs <= kMaxTensors && call.outputs >= 0 &&
           call.outputs <= kMaxTensors;
  if (!good) throw WorldError("a bad request");
}

void carry_out(Executor& executor, Tracer* tracer, const GpuRunnerRequest& request, const Mapping& memory,
               GpuRunnerReply& reply) {
  check_counts(request);
  bool host_bound = false;
  if (request.op != GpuRunnerOp::kLoad && (tracer != nullptr) != (request.op == GpuRunnerOp::kProfile))
    throw WorldError("a bad request");
  switch (request.op) {
    case GpuRunnerOp::kLoad:
      return load(executor, request, memory);
    case GpuRunnerOp::kUnload:
      return unload(executor);
    case GpuRunnerOp::kCall:
      return executor.call(request, reply);
    case GpuRunnerOp::kRepeat:
      reply.repeat_us = executor.repeat(request, host_bound);
      reply.host_bound = host_bound;
      return;
    case GpuRunnerOp::kProfile:
      reply.profile = executor.profile(request, *tracer);
      return;
  }
  throw WorldError("a bad request");
}

GpuRunnerReply answer(Executor& executor, Tracer* tracer, const GpuRunnerRequest& request,
                      const Mapping& memory) {
  GpuRunnerReply reply;
  try {
    carry_out(executor, tracer, request, memory, reply);
    reply.status = GpuRunnerStatus::kOk;
  } catch (const CandidateError& e) {
    fail(reply, e.status, e.words, e.reason);
  } catch (const GpuError& e) {
    if (e.context_lost())
      fail(reply, GpuRunnerStatus::kCrashed, e.words(), e.reason());
    else
      fail(reply, GpuRunnerStatus::kBroken, e.what());
  } catch (const std::exception& e) {
    fail(reply, GpuRunnerStatus::kBroken, e.what());
  }
  return reply;
}

void run(char** arguments, bool profiling) {
  const Mapping memory = map_whole(kCandidate);
  const GpuFacts facts = enter_gpu(std::atoi(arguments[1]));
  const auto exchange = SharedGpuMemory::map(kExchange, std::atoll(arguments[2]));
  std::optional<Tracer> tracer;
  if (profiling) tracer.emplace();
  Executor executor(facts, exchange);
  if (!executor.canary()) throw WorldError("the GPU does not compute what it should");
  GpuRunnerReply ready;
  ready.status = GpuRunnerStatus::kOk;
  ready.gpu = on_wire(facts);
  if (!send_wire(kSocket, ready, 0)) return;
  GpuRunnerRequest request;
  while (receive_packet(kSocket, &request, sizeof request, kForEver)) {
    if (request.header.magic != kProtocolMagic || request.header.version != kProtocolVersion) return;
    if (!send_wire(kSocket, answer(executor, tracer ? &*tracer : nullptr, request, memory),
                   request.header.sequence))
      return;
    if (request.op == GpuRunnerOp::kProfile) unload(executor);  // while the broker goes on
  }
}

}  // namespace
}  // namespace temper::env

int main(int count, char** arguments) {
  temper::begin_process();
  const bool profiling = count == 4 && std::string_view(arguments[3]) == "profile";
  if (count != 3 && !profiling) return temper::kExitUser;
  try {
    temper::env::run(arguments, profiling);
  } catch (const std::exception& e) {
    temper::env::GpuRunnerReply reply;
    temper::env::fail(reply, temper::env::GpuRunnerStatus::kBroken, e.what());
    temper::env::send_wire(temper::env::kSocket, reply, 0);
  }
  // Not by way of the driver's clean-up: after a crash it may not end.
  std::_Exit(0);
}
