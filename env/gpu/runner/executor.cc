#include "env/gpu/runner/executor.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "env/plan/gate.h"

namespace temper::env {
namespace {

constexpr int64_t kRotations = 4;  // the places for buffers are this many times the L2 cache, together
constexpr int64_t kMostPlaces = 16;
constexpr int64_t kLeastRepeats = 3, kMostRepeats = 10;
constexpr std::chrono::microseconds kRepeated{300};
constexpr double kLong_us = 500;  // the host's delays do not show
constexpr double kLongBatch_us = 2000, kLongProfiled_us = 300;
constexpr int kRecordTries = 40;
constexpr uint64_t kFlush_ns = 20'000;  // and more takes the flush in front of a call
constexpr std::chrono::microseconds kRecordPause{50};
constexpr double kHostShare = 0.7;
constexpr int64_t kKeptBytes = int64_t(4) << 30;  // of the arena, from one candidate to the next
constexpr int64_t kCanaryElements = 1 << 16;
constexpr size_t kStackBytes = 1024;  // of a thread, CUDA's own default

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

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

Draws draws_of(const GpuCall& call, const PlacedPlan& placed) {
  Draws draws;
  for (const Buffer& input : placed.layout.inputs) {
    draws.spec[draws.count] = call.input[draws.count];
    draws.at[draws.count++] = placed.base + uint64_t(input.offset);
  }
  return draws;
}

GpuBufferTypes types_of(const GpuCall& call) {
  GpuBufferTypes types;
  for (int32_t i = 0; i < call.inputs; ++i) types.inputs.push_back(call.input[i].type);
  types.outputs.assign(call.output_type, call.output_type + call.outputs);
  return types;
}

Zones guards_of(const GpuCall& call, const PlacedPlan& placed) {
  return guard_zones(placed.layout, types_of(call), call.fill, placed.base);
}

PlanBuffers plan_buffers(const GpuCall& call) {
  PlanBuffers buffers;
  for (int32_t i = 0; i < call.inputs; ++i)
    buffers.inputs.push_back(call.input[i].elements * int64_t(element_size(call.input[i].type)));
  buffers.outputs.assign(call.output_bytes, call.output_bytes + call.outputs);
  return buffers;
}

}  // namespace

Executor::Executor(const GpuFacts& facts, const SharedGpuMemory& exchange)
    : facts_(facts),
      exchange_(exchange.data()),
      exchange_bytes_(exchange.bytes()),
      stream_(new_stream()),
      tools_(facts, stream_),
      windows_(kMaxTensors, kGpuWindowBytes) {
  for (CUevent* events : {begin_, end_, done_})
    for (int call = 0; call < kMaxBatch; ++call) TEMPER_GPU(cuEventCreate, &events[call], CU_EVENT_DEFAULT);
  left_ = new_memory(kMaxBatch * sizeof(Left));
}

void Executor::load(const std::vector<std::string_view>& cubins, const std::vector<std::string>& plans) {
  if (!modules_.empty()) unload();
  for (const std::string_view cubin : cubins) {
    const std::string name = cubins.size() == 1 ? "the cubin" : fmt::format("cubin {}", modules_.size());
    CUmodule module = nullptr;
    check_candidate(driver().cuModuleLoadData(&module, cubin.data()), "cuModuleLoadData",
                    GpuRunnerStatus::kLoadFailed, name + " cannot be loaded");
    modules_.push_back(module);
  }
  for (const std::string& bytes : plans) {
    LaunchPlan& plan = plans_.emplace_back();
    std::string wrong = parse_plan(bytes, plan);
    if (wrong.empty() && !plan.choices.empty()) wrong = "a plan with choices";
    if (!wrong.empty()) throw CandidateError{GpuRunnerStatus::kBadPlan, "plan", wrong};
    find_kernels(plan, kernels_.emplace_back());
  }
  for (size_t i = 0; i < cubins.size(); ++i) find_tables(cubins[i], modules_[i]);
  if (!tables_.empty()) remember_tables();
}

// Called before any code of the candidate has run. The driver has already refused a cubin that it cannot read.
void Executor::find_tables(std::string_view bytes, CUmodule module) {
  Cubin cubin;
  if (!read_cubin(bytes, cubin).empty()) return;
  for (const CubinGlobal& global : cubin.globals) {
    if (!global.table || !global.visible) continue;
    Table& table = tables_.emplace_back();
    size_t size = 0;
    const CUresult found = driver().cuModuleGetGlobal(&table.data, &size, module, global.name.c_str());
    if (found != CUDA_SUCCESS || size != global.bytes || size > kMaxGlobalBytes)
      throw CandidateError{
          GpuRunnerStatus::kBadPlan, "table",
          fmt::format("the driver does not say where the table {} lies; make it __constant__", global.name)};
    table.bytes = int64_t(size);
  }
}

void Executor::remember_tables() {
  if (table_copy_ == 0) table_copy_ = new_memory(int64_t(kMaxGlobalBytes));
  std::random_device random;
  table_key_ = uint64_t(random()) << 32 | random();
  TEMPER_GPU(cuMemsetD8Async, left(0), 0, sizeof(Left), stream_);
  digest_tables(left(0) + offsetof(Left, tables));
  TEMPER_GPU(cuEventRecord, done_[0], stream_);
  table_digest_ = wait_for(0).tables;
}

// Tables need not be aligned as the digest's words are.
void Executor::digest_tables(CUdeviceptr sum) {
  uint64_t key = table_key_;
  for (const Table& table : tables_) {
    TEMPER_GPU(cuMemcpyDtoDAsync, table_copy_, table.data, size_t(table.bytes), stream_);
    tools_.digest(key++, table_copy_, 0, table.bytes, sum);
  }
}

void Executor::find_kernels(const LaunchPlan& plan, std::vector<CUfunction>& kernels) {
  const auto set = [](CUfunction kernel, CUfunction_attribute attribute, int value, const std::string& name) {
    check_candidate(driver().cuFuncSetAttribute(kernel, attribute, value), "cuFuncSetAttribute",
                    GpuRunnerStatus::kLaunchFailed, name);
  };
  for (const PlanKernel& wanted : plan.kernels) {
    if (wanted.cubin >= modules_.size())
      throw CandidateError{GpuRunnerStatus::kBadPlan, "plan",
                           fmt::format("there is no cubin {}", wanted.cubin)};
    CUfunction& kernel = kernels.emplace_back();
    check_candidate(driver().cuModuleGetFunction(&kernel, modules_[wanted.cubin], wanted.name.c_str()),
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
CUdeviceptr Executor::place(const CallLayout& layout) {
  places_ = std::clamp<int64_t>(kRotations * facts_.l2_bytes / layout.bytes, 1, kMostPlaces);
  if (places_ * layout.bytes > arena_bytes_) {
    free_arena();
    size_t free = 0, all = 0;
    TEMPER_GPU(cuMemGetInfo, &free, &all);
    const int64_t bytes = places_ * layout.bytes;
    check_candidate(driver().cuMemAlloc(&arena_, size_t(bytes)), "cuMemAlloc", GpuRunnerStatus::kNoMemory,
                    fmt::format("{} MiB for a call, {} MiB are free", bytes >> 20, free >> 20));
    arena_bytes_ = bytes;
  }
  return arena_ + CUdeviceptr(turn_++ % places_ * layout.bytes);
}

PlacedPlan Executor::lay_out(const GpuCall& call) {
  const LaunchPlan& plan = plans_.at(size_t(call.plan));
  const PlanBuffers buffers = plan_buffers(call);
  if (const std::string wrong = check_plan(plan, buffers); !wrong.empty())
    throw CandidateError{GpuRunnerStatus::kBadPlan, "plan", wrong};
  const std::vector<CUfunction>& kernels = kernels_[size_t(call.plan)];
  if (call.placement != Placement::kPacked)
    return {plan, kernels, lay_apart(plan, buffers, call.placement), windows_.data()};
  const CallLayout layout = gpu_layout(buffers.inputs, buffers.outputs, plan.workspaces);
  return {plan, kernels, layout, place_for(plan, layout)};
}

// Workspaces lie in the arena, with guards: they may be many, and of any size.
CallLayout Executor::lay_apart(const LaunchPlan& plan, const PlanBuffers& buffers, Placement placement) {
  const auto fits = [this](int64_t bytes) { return bytes <= windows_.sizes().bytes; };
  const bool all_fit =
      std::ranges::all_of(buffers.inputs, fits) && std::ranges::all_of(buffers.outputs, fits);
  if (!all_fit || std::ssize(buffers.inputs) + std::ssize(buffers.outputs) > windows_.count())
    throw WorldError("a bad request");
  CallLayout layout = gpu_layout_apart(buffers.inputs, buffers.outputs, windows_.sizes(), placement);
  if (plan.workspaces.empty()) return layout;
  const CallLayout workspaces = gpu_layout({}, {}, plan.workspaces);
  add_workspaces(layout, workspaces, int64_t(place_for(plan, workspaces) - windows_.data()));
  return layout;
}

// A layout that does not fit without any workspaces is too large because of the task, not because of the candidate.
CUdeviceptr Executor::place_for(const LaunchPlan& plan, const CallLayout& layout) {
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
  for (const Buffer& own : placed.layout.outputs)
    TEMPER_GPU(cuMemcpyDtoDAsync, placed.base + CUdeviceptr(own.offset),
               exchange_ + CUdeviceptr(exchange_offsets({own.bytes}, end)[0]), size_t(own.bytes), stream_);
}

// Copies the outputs to the oracle's memory after `end` and seals them, because later calls can reach that memory.
void Executor::give_outputs(const PlacedPlan& placed, uint64_t seal, int64_t& end, CUdeviceptr digest) {
  for (const Buffer& own : placed.layout.outputs) {
    const CUdeviceptr there = exchange_ + CUdeviceptr(exchange_offsets({own.bytes}, end)[0]);
    if (end > exchange_bytes_) throw WorldError("a bad request");
    tools_.digest(seal++, placed.base + CUdeviceptr(own.offset), there, own.bytes, digest);
  }
}

void Executor::fill(const GpuCall& call, const PlacedPlan& placed) {
  tools_.fill_zones(guards_of(call, placed));
  tools_.fill_zones(filled_zones(placed.layout, types_of(call), call.fill, placed.base));
}

void Executor::prepare(const GpuRunnerRequest& how, const GpuCall& call, const PlacedPlan& placed) {
  how.naive != 0 ? take_outputs(placed) : fill(call, placed);
  tools_.draw(draws_of(call, placed));
  if (how.timed != 0) tools_.flush_l2();
}

// Checks everything that the call must not have changed.
void Executor::look(const GpuCall& call, const PlacedPlan& placed, CUdeviceptr left) {
  tools_.check_draws(draws_of(call, placed), left + offsetof(Left, changed));
  tools_.check_zones(guards_of(call, placed), left + offsetof(Left, broken));
  digest_tables(left + offsetof(Left, tables));
}

// Persisting lines of the L2 cache are released once for all queued calls, each of which has memory of its own. The
// results of a call are read while the next one is prepared, before code of the candidate runs again.
void Executor::call(const GpuRunnerRequest& request, GpuRunnerReply& reply) {
  double timed_us = 0;
  watched_us_ = 0;
  for (int64_t end = 0; reply.calls < request.calls && timed_us < kLongBatch_us;) {
    const bool ahead = timed_us > 0 && timed_us * request.calls < kLongBatch_us * reply.calls;
    const int32_t first = reply.calls;
    const auto last = int32_t(std::min<int64_t>(request.calls, first + (ahead ? places_ : 1)));
    if (request.timed != 0) TEMPER_GPU(cuCtxResetPersistingL2Cache);
    TEMPER_GPU(cuMemsetD8Async, left(first), 0, size_t(last - first) * sizeof(Left), stream_);
    for (int32_t i = first; i < last; ++i) queue(request, i, end);
    while (reply.calls < last) {
      const Left left = wait_for(reply.calls);
      if (left.changed != 0) throw CandidateError{GpuRunnerStatus::kInputChanged, "input_mutation", ""};
      if (left.broken != 0) throw CandidateError{GpuRunnerStatus::kGuardBroken, "guard", ""};
      if (request.naive == 0 && !tables_.empty() && left.tables != table_digest_)
        throw CandidateError{GpuRunnerStatus::kTableChanged, "table", ""};
      float milliseconds = 0;
      TEMPER_GPU(cuEventElapsedTime, &milliseconds, begin_[reply.calls], end_[reply.calls]);
      reply.digest[reply.calls] = left.digest;
      reply.call_us[reply.calls] = 1e3 * double(milliseconds);
      ++reply.calls;
      if (request.timed == 0) continue;
      timed_us += 1e3 * double(milliseconds);
      takes_long_ = 1e3 * double(milliseconds) > kLong_us;
    }
  }
  reply.watched_us = watched_us_;
  TEMPER_GPU(cuCtxResetPersistingL2Cache);  // the baseline may come next, and finds the cache as it was
}

void Executor::queue(const GpuRunnerRequest& request, int32_t index, int64_t& exchange_end) {
  const GpuCall& call = request.call[index];
  const PlacedPlan placed = lay_out(call);
  prepare(request, call, placed);
  const bool watched = request.timed != 0 && takes_long_;
  const auto start = watched ? when_done() : Clock::time_point();
  TEMPER_GPU(cuEventRecord, begin_[index], stream_);
  run_steps(placed, stream_, request.knocked_out != 0 ? Steps::kWithoutKernels : Steps::kAll);
  TEMPER_GPU(cuEventRecord, end_[index], stream_);
  if (watched) {
    const double us = microseconds(when_done() - start);
    watched_us_ = watched_us_ > 0 ? std::min(watched_us_, us) : us;
  }
  if (request.naive == 0) look(call, placed, left(index));
  give_outputs(placed, call.seal, exchange_end, left(index) + offsetof(Left, digest));
  TEMPER_GPU(cuEventRecord, done_[index], stream_);
}

Clock::time_point Executor::when_done() {
  TEMPER_GPU(cuStreamSynchronize, stream_);
  return Clock::now();
}

Executor::Left Executor::wait_for(int32_t call) {
  Left found;
  TEMPER_GPU(cuEventSynchronize, done_[call]);
  TEMPER_GPU(cuMemcpyDtoH, &found, left(call), sizeof found);
  return found;
}

double Executor::repeat(const GpuRunnerRequest& request, bool& host_bound) {
  const PlacedPlan placed = lay_out(request.call[0]);
  prepare(request, request.call[0], placed);
  const auto begin = when_done();
  run_steps(placed, stream_);
  const auto once = when_done() - begin;
  if (microseconds(once) > kLong_us) {
    host_bound = false;
    return microseconds(once);
  }
  const int64_t repeats = std::clamp<int64_t>(kRepeated / once, kLeastRepeats, kMostRepeats);
  const auto again = Clock::now();
  for (int64_t i = 0; i < repeats; ++i) run_steps(placed, stream_);
  const auto launched = Clock::now(), end = when_done();
  host_bound = launched - again > kHostShare * (end - again);
  return microseconds(end - again) / double(repeats);
}

// Profiles several calls, or a single call if it is long, and returns the fastest. Only the plan runs between the two
// flushes of the tracer. Foreign kernels are reported only if no call gave a clean profile, because a record of
// earlier work may arrive late.
ProfileWire Executor::profile(const GpuRunnerRequest& request, Tracer& tracer) {
  ProfileWire best, seen;
  for (int i = 0; i < request.profiled && best.device_us < kLongProfiled_us; ++i) {
    const PlacedPlan placed = lay_out(request.call[0]);
    TEMPER_GPU(cuCtxResetPersistingL2Cache);
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
  takes_long_ = false;
  plans_.clear();
  kernels_.clear();
  tables_.clear();
  TEMPER_GPU(cuStreamSynchronize, stream_);
  for (const CUmodule module : std::exchange(modules_, {})) TEMPER_GPU(cuModuleUnload, module);
  if (arena_bytes_ > kKeptBytes) free_arena();
  TEMPER_GPU(cuCtxSetLimit, CU_LIMIT_STACK_SIZE, kStackBytes);
  TEMPER_GPU(cuCtxResetPersistingL2Cache);
}

bool Executor::canary() {
  tools_.reload();
  Draws draws;
  draws.count = 1;
  draws.spec[0].elements = draws.spec[0].form.elements = kCanaryElements;
  draws.at[0] = place(gpu_layout({kCanaryElements * 4}, {}, {}));
  TEMPER_GPU(cuMemsetD8Async, left(0), 0, sizeof(Left), stream_);
  tools_.draw(draws);
  tools_.check_draws(draws, left(0) + offsetof(Left, changed));
  draws.spec[0].key = 1;
  tools_.check_draws(draws, left(0) + offsetof(Left, broken));  // another draw must not be found
  TEMPER_GPU(cuEventRecord, done_[0], stream_);
  const Left found = wait_for(0);
  return found.changed == 0 && found.broken == 1;
}

}  // namespace temper::env
