#include "env/cuda/runner/executor.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "env/case.h"

namespace temper {
namespace {

constexpr int64_t kRotations = 4;  // the places for buffers are this many times the L2 cache, together
constexpr int64_t kMostPlaces = 16;
constexpr int64_t kFlagBytes = 256;
constexpr int kRepeats = 10;
constexpr std::chrono::milliseconds kLongRepeat{2};
constexpr int kProfiledCalls = 2;
constexpr double kLongCall_us = 300;
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

PlanBuffers plan_buffers(const GpuRunnerRequest& request) {
  PlanBuffers buffers;
  for (int32_t i = 0; i < request.inputs; ++i)
    buffers.inputs.push_back(
        request.input[i].elements *
        (request.input[i].type == GpuType::kF32 || request.input[i].type == GpuType::kI32 ? 4 : 2));
  buffers.outputs.assign(request.output_bytes, request.output_bytes + request.outputs);
  return buffers;
}

}  // namespace

Executor::Executor(const GpuFacts& facts, const SharedGpuMemory& exchange)
    : facts_(facts), exchange_(exchange.data()), stream_(new_stream()), tools_(facts, stream_) {
  TEMPER_GPU(cuEventCreate, &begin_, CU_EVENT_DEFAULT);
  TEMPER_GPU(cuEventCreate, &end_, CU_EVENT_DEFAULT);
  flags_ = new_memory(kFlagBytes);
}

void Executor::load(const char* cubin, const std::vector<std::string>& plans) {
  tools_.reload();
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

PlacedPlan Executor::placed(const GpuRunnerRequest& request) {
  const LaunchPlan& plan = plans_.at(size_t(request.plan));
  const PlanBuffers buffers = plan_buffers(request);
  if (const std::string wrong = check_plan(plan, buffers); !wrong.empty())
    throw CandidateError{GpuRunnerStatus::kBadPlan, "plan", wrong};
  const GpuLayout layout = gpu_layout(buffers.inputs, buffers.outputs, plan.workspaces);
  return {plan, kernels_[size_t(request.plan)], layout, place_for(plan, layout)};
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

// Between the outputs of a call and the memory that is shared with the oracle.
void Executor::exchange_outputs(const GpuRunnerRequest& request, const PlacedPlan& call, Towards towards) {
  int64_t end = 0;
  const auto offsets = exchange_offsets({request.output_bytes, request.output_bytes + request.outputs}, end);
  for (size_t i = 0; i < call.layout.outputs.size(); ++i) {
    const CUdeviceptr shared = exchange_ + CUdeviceptr(offsets[i]);
    const CUdeviceptr own = call.base + CUdeviceptr(call.layout.outputs[i].offset);
    const bool out = towards == Towards::kOracle;
    TEMPER_GPU(cuMemcpyDtoDAsync, out ? shared : own, out ? own : shared,
               size_t(call.layout.outputs[i].bytes), stream_);
  }
}

void Executor::poison(const PlacedPlan& call) {
  for (const GpuBuffer& guard : call.layout.guards)
    TEMPER_GPU(cuMemsetD8Async, call.base + CUdeviceptr(guard.offset), kGuardByte, size_t(guard.bytes),
               stream_);
  for (const auto* buffers : {&call.layout.outputs, &call.layout.workspaces})
    for (const GpuBuffer& buffer : *buffers)
      TEMPER_GPU(cuMemsetD8Async, call.base + CUdeviceptr(buffer.offset), kPoisonByte, size_t(buffer.bytes),
                 stream_);
}

void Executor::prepare(const GpuRunnerRequest& request, const PlacedPlan& call) {
  if (request.naive != 0)
    exchange_outputs(request, call, Towards::kCandidate);
  else
    poison(call);
  for (size_t i = 0; i < call.layout.inputs.size(); ++i)
    tools_.draw(request.input[i], call.base + CUdeviceptr(call.layout.inputs[i].offset));
  TEMPER_GPU(cuMemsetD8Async, flags_, 0, size_t(kFlagBytes), stream_);
  if (request.timed == 0) return;
  TEMPER_GPU(cuCtxResetPersistingL2Cache);
  tools_.flush_l2();
}

// What the call must not have changed.
void Executor::look(const GpuRunnerRequest& request, const PlacedPlan& call) {
  Zones zones;
  for (const GpuBuffer& guard : call.layout.guards) {
    zones.begin[zones.count] = call.base + uint64_t(guard.offset);
    zones.end[zones.count++] = call.base + uint64_t(guard.offset + guard.bytes);
  }
  for (size_t i = 0; i < call.layout.inputs.size(); ++i)
    tools_.check_draw(request.input[i], call.base + CUdeviceptr(call.layout.inputs[i].offset), flags_);
  tools_.check_zones(zones, flags_ + sizeof(uint32_t));
}

double Executor::call(const GpuRunnerRequest& request) {
  const PlacedPlan call = placed(request);
  prepare(request, call);
  TEMPER_GPU(cuEventRecord, begin_, stream_);
  run_steps(call, stream_, request.knocked_out != 0 ? Steps::kWithoutKernels : Steps::kAll);
  TEMPER_GPU(cuEventRecord, end_, stream_);
  if (request.naive == 0) look(request, call);
  exchange_outputs(request, call, Towards::kOracle);
  TEMPER_GPU(cuStreamSynchronize, stream_);
  TEMPER_GPU(cuCtxResetPersistingL2Cache);  // the baseline comes next, and finds the cache as it was
  uint32_t flags[2] = {};
  TEMPER_GPU(cuMemcpyDtoH, flags, flags_, sizeof flags);
  if (flags[0] != 0) throw CandidateError{GpuRunnerStatus::kInputChanged, "input_mutation", ""};
  if (flags[1] != 0) throw CandidateError{GpuRunnerStatus::kGuardBroken, "guard", ""};
  float milliseconds = 0;
  TEMPER_GPU(cuEventElapsedTime, &milliseconds, begin_, end_);
  return 1e3 * double(milliseconds);
}

double Executor::repeat(const GpuRunnerRequest& request, bool& host_bound) {
  using Clock = std::chrono::steady_clock;
  const PlacedPlan call = placed(request);
  prepare(request, call);
  TEMPER_GPU(cuStreamSynchronize, stream_);
  const auto begin = Clock::now();
  run_steps(call, stream_);
  TEMPER_GPU(cuStreamSynchronize, stream_);
  if (const auto once = Clock::now() - begin; once > kLongRepeat) {  // the host's delays do not show
    host_bound = false;
    return std::chrono::duration<double, std::micro>(once).count();
  }
  const auto again = Clock::now();
  for (int i = 0; i < kRepeats; ++i) run_steps(call, stream_);
  const auto launched = Clock::now();
  TEMPER_GPU(cuStreamSynchronize, stream_);
  const auto end = Clock::now();
  host_bound = launched - again > kHostShare * (end - again);
  return std::chrono::duration<double, std::micro>(end - again).count() / kRepeats;
}

// The fastest of some calls; of long ones, one. Nothing but the plan runs between the two flushes of the
// tracer. What each of them shows to be foreign is; a record that came late is not.
ProfileWire Executor::profile(const GpuRunnerRequest& request, Tracer& tracer) {
  ProfileWire best, seen;
  for (int i = 0; i < kProfiledCalls && best.device_us < kLongCall_us; ++i) {
    const PlacedPlan call = placed(request);
    prepare(request, call);
    TEMPER_GPU(cuStreamSynchronize, stream_);
    tracer.take(true);
    const uint64_t since_ns = tracer.now_ns();
    run_steps(call, stream_);
    TEMPER_GPU(cuStreamSynchronize, stream_);
    seen = recorded(call.plan, tracer, since_ns);
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
  TEMPER_GPU(cuMemsetD8Async, flags_, 0, size_t(kFlagBytes), stream_);
  tools_.draw(spec, base);
  tools_.check_draw(spec, base, flags_);
  spec.key = 1;
  tools_.check_draw(spec, base, flags_ + sizeof(uint32_t));  // another draw must not be found
  uint32_t flags[2] = {};
  TEMPER_GPU(cuStreamSynchronize, stream_);
  TEMPER_GPU(cuMemcpyDtoH, flags, flags_, sizeof flags);
  return flags[0] == 0 && flags[1] == 1;
}

}  // namespace temper
