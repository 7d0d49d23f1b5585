#include "env/cuda/runner/executor.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "env/case.h"

namespace temper {
namespace {

constexpr int64_t kRotations = 4;  // the places for buffers are this many times the L2 cache, together
constexpr int64_t kMostPlaces = 16;
constexpr int64_t kLeastRepeats = 3, kMostRepeats = 10;
constexpr std::chrono::microseconds kRepeated{500}, kLongRepeat{500};
constexpr double kLongBatch_us = 2000, kLongProfiled_us = 300;
constexpr int kRecordTries = 10;
constexpr uint64_t kFlush_ns = 20'000;  // and more takes the flush in front of a call
constexpr std::chrono::microseconds kRecordPause{200};
constexpr double kHostShare = 0.7;
constexpr int64_t kKeptBytes = int64_t(4) << 30;  // of the arena, from one candidate to the next
constexpr int64_t kCanaryElements = 1 << 16;
constexpr size_t kStackBytes = 1024;  // of a thread, CUDA's own default

CUstream new_stream() {
  CUstream stream = nullptr;
  TEMPER_GPU(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  return stream;
}

CUdeviceptr new_memory(int64_t bytes) {
  CUdeviceptr memory = 0;
  TEMPER_GPU(cuMemAlloc, &memory, size_t(bytes));
  return memory;
}

PlanBuffers plan_buffers(const GpuCall& call) {
  PlanBuffers buffers;
  for (int32_t i = 0; i < call.inputs; ++i)
    buffers.inputs.push_back(
        call.input[i].elements *
        (call.input[i].type == GpuType::kF32 || call.input[i].type == GpuType::kI32 ? 4 : 2));
  buffers.outputs.assign(call.output_bytes, call.output_bytes + call.outputs);
  return buffers;
}

}  // namespace

Executor::Executor(const GpuFacts& facts, const SharedGpuMemory& exchange)
    : facts_(facts),
      exchange_(exchange.data()),
      exchange_bytes_(exchange.bytes()),
      stream_(new_stream()),
      tools_(facts, stream_) {
  TEMPER_GPU(cuEventCreate, &begin_, CU_EVENT_DEFAULT);
  TEMPER_GPU(cuEventCreate, &end_, CU_EVENT_DEFAULT);
  left_ = new_memory(sizeof(Left));
}

void Executor::load(const char* cubin, const std::vector<std::string>& plans) {
  check_candidate(driver().cuModuleLoadData(&module_, cubin), "cuModuleLoadData",
                  GpuRunnerStatus::kLoadFailed, "the cubin cannot be loaded");
  for (const std::string& bytes : plans) {
    LaunchPlan& plan = plans_.emplace_back();
    if (const std::string wrong = parse_plan(bytes, plan); !wrong.empty())
      throw CandidateError{GpuRunnerStatus::kBadPlan, "plan", wrong};
    resolve(plan, kernels_.emplace_back());
  }
}

void Executor::resolve(const LaunchPlan& plan, std::vector<CUfunction>& kernels) {
  const auto set = [](CUfunction kernel, CUfunction_attribute attribute, int value, const std::string& name) {
    check_candidate(driver().cuFuncSetAttribute(kernel, attribute, value), "cuFuncSetAttribute",
                    GpuRunnerStatus::kLaunchFailed, name);
  };
  for (const PlanKernel& wanted : plan.kernels) {
    CUfunction& kernel = kernels.emplace_back();
    check_candidate(driver().cuModuleGetFunction(&kernel, module_, wanted.name.c_str()),
                    "cuModuleGetFunction", GpuRunnerStatus::kLoadFailed, wanted.name);
    if (wanted.max_dynamic_shared > 0)
      set(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, int(wanted.max_dynamic_shared),
          wanted.name);
    if (wanted.shared_carveout >= 0)
      set(kernel, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, wanted.shared_carveout, wanted.name);
    if (wanted.nonportable_cluster)
      set(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, wanted.name);
  }
}

void Executor::free_arena() {
  if (arena_ != 0) TEMPER_GPU(cuMemFree, std::exchange(arena_, 0));
  arena_bytes_ = 0;
}

// Another place each time: what a call leaves in caches, or in memory, is not where the next one looks.
CUdeviceptr Executor::place(const GpuLayout& layout) {
  const int64_t wish = std::clamp<int64_t>(kRotations * facts_.l2_bytes / layout.bytes, 1, kMostPlaces);
  if (wish * layout.bytes > arena_bytes_) {
    free_arena();
    size_t free = 0, all = 0;
    TEMPER_GPU(cuMemGetInfo, &free, &all);
    check_candidate(driver().cuMemAlloc(&arena_, size_t(wish * layout.bytes)), "cuMemAlloc",
                    GpuRunnerStatus::kNoMemory,
                    fmt::format("{} MiB for a call, {} MiB are free", wish * layout.bytes >> 20, free >> 20));
    arena_bytes_ = wish * layout.bytes;
  }
  return arena_ + CUdeviceptr(turn_++ % wish * layout.bytes);
}

PlacedPlan Executor::lay_out(const GpuCall& call) {
  const LaunchPlan& plan = plans_.at(size_t(call.plan));
  const PlanBuffers buffers = plan_buffers(call);
  if (const std::string wrong = check_plan(plan, buffers); !wrong.empty())
    throw CandidateError{GpuRunnerStatus::kBadPlan, "plan", wrong};
  const GpuLayout layout = gpu_layout(buffers.inputs, buffers.outputs, plan.workspaces);
  return {plan, kernels_[size_t(call.plan)], layout, place_for(plan, layout)};
}

// What does not fit although it asks for no workspaces is not the candidate's fault.
CUdeviceptr Executor::place_for(const LaunchPlan& plan, const GpuLayout& layout) {
  try {
    return place(layout);
  } catch (CandidateError& error) {
    if (plan.workspaces.empty() && error.status == GpuRunnerStatus::kNoMemory)
      error.status = GpuRunnerStatus::kTaskTooLarge;
    throw;
  }
}

// From the oracle; the naive judge's only call.
void Executor::take_outputs(const PlacedPlan& placed) {
  int64_t end = 0;
  for (const GpuBuffer& own : placed.layout.outputs)
    TEMPER_GPU(cuMemcpyDtoDAsync, placed.base + CUdeviceptr(own.offset),
               exchange_ + CUdeviceptr(exchange_offsets({own.bytes}, end)[0]), size_t(own.bytes), stream_);
}

// To the oracle, behind `end`, and sealed there: calls to come can reach that memory, too.
void Executor::give_outputs(const PlacedPlan& placed, uint64_t seal, int64_t& end) {
  for (const GpuBuffer& own : placed.layout.outputs) {
    const CUdeviceptr there = exchange_ + CUdeviceptr(exchange_offsets({own.bytes}, end)[0]);
    if (end > exchange_bytes_) throw WorldError("a bad request");
    TEMPER_GPU(cuMemcpyDtoDAsync, there, placed.base + CUdeviceptr(own.offset), size_t(own.bytes), stream_);
    tools_.digest(seal++, there, own.bytes, left_ + offsetof(Left, digest));
  }
}

void Executor::poison(const PlacedPlan& placed) {
  for (const GpuBuffer& guard : placed.layout.guards)
    TEMPER_GPU(cuMemsetD8Async, placed.base + CUdeviceptr(guard.offset), kGuardByte, size_t(guard.bytes),
               stream_);
  for (const auto* buffers : {&placed.layout.outputs, &placed.layout.workspaces})
    for (const GpuBuffer& buffer : *buffers)
      TEMPER_GPU(cuMemsetD8Async, placed.base + CUdeviceptr(buffer.offset), kPoisonByte, size_t(buffer.bytes),
                 stream_);
}

void Executor::prepare(const GpuRunnerRequest& how, const GpuCall& call, const PlacedPlan& placed) {
  how.naive != 0 ? take_outputs(placed) : poison(placed);
  for (size_t i = 0; i < placed.layout.inputs.size(); ++i)
    tools_.draw(call.input[i], placed.base + CUdeviceptr(placed.layout.inputs[i].offset));
  TEMPER_GPU(cuMemsetD8Async, left_, 0, sizeof(Left), stream_);
  if (how.timed == 0) return;
  TEMPER_GPU(cuCtxResetPersistingL2Cache);
  tools_.flush_l2();
}

// What the call must not have changed.
void Executor::look(const GpuCall& call, const PlacedPlan& placed) {
  Zones zones;
  for (const GpuBuffer& guard : placed.layout.guards) {
    zones.begin[zones.count] = placed.base + uint64_t(guard.offset);
    zones.end[zones.count++] = placed.base + uint64_t(guard.offset + guard.bytes);
  }
  for (size_t i = 0; i < placed.layout.inputs.size(); ++i)
    tools_.check_draw(call.input[i], placed.base + CUdeviceptr(placed.layout.inputs[i].offset),
                      left_ + offsetof(Left, changed));
  tools_.check_zones(zones, left_ + offsetof(Left, broken));
}

void Executor::call(const GpuRunnerRequest& request, GpuRunnerReply& reply) {
  double timed_us = 0;
  for (int64_t end = 0; reply.calls < request.calls && timed_us < kLongBatch_us; ++reply.calls) {
    const Left left = call(request, request.call[reply.calls], end);
    if (left.changed != 0) throw CandidateError{GpuRunnerStatus::kInputChanged, "input_mutation", ""};
    if (left.broken != 0) throw CandidateError{GpuRunnerStatus::kGuardBroken, "guard", ""};
    float milliseconds = 0;
    TEMPER_GPU(cuEventElapsedTime, &milliseconds, begin_, end_);
    reply.call_us[reply.calls] = 1e3 * double(milliseconds);
    reply.digest[reply.calls] = left.digest;
    if (request.timed != 0) timed_us += reply.call_us[reply.calls];
  }
  TEMPER_GPU(cuCtxResetPersistingL2Cache);  // the baseline may come next, and finds the cache as it was
}

Executor::Left Executor::call(const GpuRunnerRequest& how, const GpuCall& call, int64_t& exchange_end) {
  const PlacedPlan placed = lay_out(call);
  prepare(how, call, placed);
  TEMPER_GPU(cuEventRecord, begin_, stream_);
  run_steps(placed, stream_, how.knocked_out != 0 ? Steps::kWithoutKernels : Steps::kAll);
  TEMPER_GPU(cuEventRecord, end_, stream_);
  if (how.naive == 0) look(call, placed);
  give_outputs(placed, call.seal, exchange_end);
  return left();
}

Executor::Left Executor::left() {
  Left left;
  TEMPER_GPU(cuStreamSynchronize, stream_);
  TEMPER_GPU(cuMemcpyDtoH, &left, left_, sizeof left);
  return left;
}

double Executor::repeat(const GpuRunnerRequest& request, bool& host_bound) {
  using Clock = std::chrono::steady_clock;
  const PlacedPlan placed = lay_out(request.call[0]);
  prepare(request, request.call[0], placed);
  TEMPER_GPU(cuStreamSynchronize, stream_);
  const auto begin = Clock::now();
  run_steps(placed, stream_);
  TEMPER_GPU(cuStreamSynchronize, stream_);
  const auto once = Clock::now() - begin;
  if (once > kLongRepeat) {  // the host's delays do not show
    host_bound = false;
    return std::chrono::duration<double, std::micro>(once).count();
  }
  const int64_t repeats = std::clamp<int64_t>(kRepeated / once, kLeastRepeats, kMostRepeats);
  const auto again = Clock::now();
  for (int64_t i = 0; i < repeats; ++i) run_steps(placed, stream_);
  const auto launched = Clock::now();
  TEMPER_GPU(cuStreamSynchronize, stream_);
  const auto end = Clock::now();
  host_bound = launched - again > kHostShare * (end - again);
  return std::chrono::duration<double, std::micro>(end - again).count() / double(repeats);
}

// The fastest of some calls; of long ones, one. Nothing but the plan runs between the two flushes of the
// tracer. What each of them shows to be foreign is; a record that came late is not.
ProfileWire Executor::profile(const GpuRunnerRequest& request, Tracer& tracer) {
  ProfileWire best, seen;
  for (int i = 0; i < request.profiled && best.device_us < kLongProfiled_us; ++i) {
    const PlacedPlan placed = lay_out(request.call[0]);
    prepare(request, request.call[0], placed);
    TEMPER_GPU(cuStreamSynchronize, stream_);
    tracer.take(true);
    const uint64_t since_ns = tracer.now_ns();
    run_steps(placed, stream_);
    TEMPER_GPU(cuStreamSynchronize, stream_);
    seen = recorded(placed.plan, tracer, since_ns);
    if (seen.parts > 0 && (best.parts == 0 || seen.device_us < best.device_us)) best = seen;
  }
  return best.parts > 0 ? best : seen;
}

// Records of what ran before may come late: the last of it, the flush, began long before.
ProfileWire Executor::recorded(const LaunchPlan& plan, Tracer& tracer, uint64_t since_ns) {
  std::vector<DeviceRecord> records;
  ProfileWire seen;
  for (int i = 0; i < kRecordTries && seen.parts == 0; ++i) {
    if (i > 0) std::this_thread::sleep_for(kRecordPause);
    for (const DeviceRecord& record : tracer.take(i + 1 == kRecordTries))
      if (record.begin_ns == 0 || record.begin_ns + kFlush_ns > since_ns) records.push_back(record);
    seen = summarize(records, plan);
  }
  return seen;
}

void Executor::unload() {
  plans_.clear();
  kernels_.clear();
  TEMPER_GPU(cuStreamSynchronize, stream_);
  if (module_ != nullptr) TEMPER_GPU(cuModuleUnload, std::exchange(module_, nullptr));
  if (arena_bytes_ > kKeptBytes) free_arena();
  TEMPER_GPU(cuCtxSetLimit, CU_LIMIT_STACK_SIZE, kStackBytes);
  TEMPER_GPU(cuCtxResetPersistingL2Cache);
}

bool Executor::canary() {
  tools_.reload();
  DrawSpec spec;
  spec.elements = kCanaryElements;
  GpuLayout layout = gpu_layout({kCanaryElements * 4}, {}, {});
  const CUdeviceptr base = place(layout);
  TEMPER_GPU(cuMemsetD8Async, left_, 0, sizeof(Left), stream_);
  tools_.draw(spec, base);
  tools_.check_draw(spec, base, left_ + offsetof(Left, changed));
  spec.key = 1;
  tools_.check_draw(spec, base, left_ + offsetof(Left, broken));  // another draw must not be found
  const Left found = left();
  return found.changed == 0 && found.broken == 1;
}

}  // namespace temper
