#include "env/cuda/runner/executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "env/case.h"

namespace temper {
namespace {

constexpr int64_t kRotations = 4;  // the places for buffers are this many times the L2 cache, together
constexpr int64_t kMostPlaces = 16;
constexpr int64_t kFlagBytes = 256;
constexpr int kRepeats = 10;
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

// Of the candidate's doing, unless the context is gone.
void check_candidate(CUresult code, const char* call, GpuRunnerStatus status, const std::string& what) {
  if (code == CUDA_SUCCESS) return;
  const GpuError error(code, call);
  if (error.context_lost()) throw error;
  if (code == CUDA_ERROR_OUT_OF_MEMORY) status = GpuRunnerStatus::kNoMemory;
  throw CandidateError{status, error.reason(), fmt::format("{}: {}", what, error.words())};
}

CUdeviceptr address(const DevicePointer& pointer, const GpuLayout& layout, CUdeviceptr base) {
  const auto& buffers = pointer.space == Space::kInput    ? layout.inputs
                        : pointer.space == Space::kOutput ? layout.outputs
                                                          : layout.workspaces;
  return base + CUdeviceptr(buffers.at(pointer.index).offset + pointer.offset);
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
    const CUresult code = driver().cuMemAlloc(&arena_, size_t(wish * layout.bytes));
    if (layout.workspaces.empty())
      check_gpu(code, "cuMemAlloc");  // the task itself is too large for this GPU
    check_candidate(code, "cuMemAlloc", GpuRunnerStatus::kNoMemory,
                    fmt::format("{} MiB for a call", layout.bytes >> 20));
    arena_bytes_ = wish * layout.bytes;
  }
  return arena_ + CUdeviceptr(turn_++ % wish * layout.bytes);
}

void Executor::prepare(const GpuRunnerRequest& request, const GpuLayout& layout, CUdeviceptr base) {
  for (const GpuBuffer& guard : layout.guards)
    TEMPER_GPU(cuMemsetD8Async, base + CUdeviceptr(guard.offset), kGuardByte, size_t(guard.bytes), stream_);
  for (const auto* buffers : {&layout.outputs, &layout.workspaces})
    for (const GpuBuffer& buffer : *buffers)
      TEMPER_GPU(cuMemsetD8Async, base + CUdeviceptr(buffer.offset), kPoisonByte, size_t(buffer.bytes),
                 stream_);
  for (size_t i = 0; i < layout.inputs.size(); ++i)
    tools_.draw(request.input[i], base + CUdeviceptr(layout.inputs[i].offset));
  TEMPER_GPU(cuMemsetD8Async, flags_, 0, size_t(kFlagBytes), stream_);
  if (request.timed == 0) return;
  TEMPER_GPU(cuCtxResetPersistingL2Cache);
  tools_.flush_l2();
}

std::vector<std::vector<uint8_t>> Executor::relocated(const LaunchPlan& plan, const GpuLayout& layout,
                                                      CUdeviceptr base) const {
  std::vector<std::vector<uint8_t>> arguments;
  for (const Step& step : plan.steps) {
    auto& bytes = arguments.emplace_back();
    const auto* launch = std::get_if<KernelLaunch>(&step);
    if (launch == nullptr) continue;
    bytes = launch->arguments;
    for (const Relocation& relocation : launch->relocations) {
      const CUdeviceptr pointer = address(relocation.pointer, layout, base);
      std::memcpy(&bytes.at(relocation.at), &pointer, sizeof pointer);
    }
  }
  return arguments;
}

void Executor::launch(const KernelLaunch& step, CUfunction kernel, const std::vector<uint8_t>& arguments,
                      bool first) {
  size_t size = arguments.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<uint8_t*>(arguments.data()),
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  CUlaunchAttribute attributes[3];
  CUlaunchConfig config{};
  config.gridDimX = step.grid.x, config.gridDimY = step.grid.y, config.gridDimZ = step.grid.z;
  config.blockDimX = step.block.x, config.blockDimY = step.block.y, config.blockDimZ = step.block.z;
  config.sharedMemBytes = step.shared_bytes;
  config.hStream = stream_;
  config.attrs = attributes;
  if (step.cluster.count() > 1) {
    CUlaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {step.cluster.x, step.cluster.y, step.cluster.z};
  }
  if (step.cooperative) {
    attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[config.numAttrs++].value.cooperative = 1;
  }
  if (step.programmatic && !first) {  // never before what the judge does in front of the plan
    attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attributes[config.numAttrs++].value.programmaticStreamSerializationAllowed = 1;
  }
  check_candidate(driver().cuLaunchKernelEx(&config, kernel, nullptr, arguments.empty() ? nullptr : extra),
                  "cuLaunchKernelEx", GpuRunnerStatus::kLaunchFailed, "a launch is refused");
}

void Executor::run(const LaunchPlan& plan, const std::vector<CUfunction>& kernels, const GpuLayout& layout,
                   CUdeviceptr base, const std::vector<std::vector<uint8_t>>& arguments) {
  const auto fill = [&](const Memset& step) {
    const CUdeviceptr to = address(step.to, layout, base);
    const auto count = size_t(step.count);
    if (step.width == 4) return TEMPER_GPU(cuMemsetD32Async, to, step.value, count, stream_);
    if (step.width == 2) return TEMPER_GPU(cuMemsetD16Async, to, uint16_t(step.value), count, stream_);
    TEMPER_GPU(cuMemsetD8Async, to, uint8_t(step.value), count, stream_);
  };
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (const auto* kernel = std::get_if<KernelLaunch>(&step)) {
      launch(*kernel, kernels.at(kernel->kernel), arguments[i], i == 0);
    } else if (const auto* memset = std::get_if<Memset>(&step)) {
      fill(*memset);
    } else {
      const Copy& copy = std::get<Copy>(step);
      TEMPER_GPU(cuMemcpyDtoDAsync, address(copy.to, layout, base), address(copy.from, layout, base),
                 size_t(copy.bytes), stream_);
    }
  }
}

// What the call must not have changed, and its outputs to the exchange.
void Executor::look(const GpuRunnerRequest& request, const GpuLayout& layout, CUdeviceptr base) {
  Zones zones;
  for (const GpuBuffer& guard : layout.guards) {
    zones.begin[zones.count] = base + uint64_t(guard.offset);
    zones.end[zones.count++] = base + uint64_t(guard.offset + guard.bytes);
  }
  for (size_t i = 0; i < layout.inputs.size(); ++i)
    tools_.check_draw(request.input[i], base + CUdeviceptr(layout.inputs[i].offset), flags_);
  tools_.check_zones(zones, flags_ + sizeof(uint32_t));
  int64_t end = 0;
  const auto offsets = exchange_offsets({request.output_bytes, request.output_bytes + request.outputs}, end);
  for (size_t i = 0; i < layout.outputs.size(); ++i)
    TEMPER_GPU(cuMemcpyDtoDAsync, exchange_ + CUdeviceptr(offsets[i]),
               base + CUdeviceptr(layout.outputs[i].offset), size_t(layout.outputs[i].bytes), stream_);
}

double Executor::call(const GpuRunnerRequest& request) {
  const LaunchPlan& plan = plans_.at(size_t(request.plan));
  const PlanBuffers buffers = plan_buffers(request);
  if (const std::string wrong = check_plan(plan, buffers); !wrong.empty())
    throw CandidateError{GpuRunnerStatus::kBadPlan, "plan", wrong};
  const GpuLayout layout = gpu_layout(buffers.inputs, buffers.outputs, plan.workspaces);
  const CUdeviceptr base = place(layout);
  const auto arguments = relocated(plan, layout, base);
  prepare(request, layout, base);
  TEMPER_GPU(cuEventRecord, begin_, stream_);
  run(plan, kernels_[size_t(request.plan)], layout, base, arguments);
  TEMPER_GPU(cuEventRecord, end_, stream_);
  look(request, layout, base);
  TEMPER_GPU(cuStreamSynchronize, stream_);
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
  const LaunchPlan& plan = plans_.at(size_t(request.plan));
  const PlanBuffers buffers = plan_buffers(request);
  const GpuLayout layout = gpu_layout(buffers.inputs, buffers.outputs, plan.workspaces);
  const CUdeviceptr base = place(layout);
  const auto arguments = relocated(plan, layout, base);
  prepare(request, layout, base);
  run(plan, kernels_[size_t(request.plan)], layout, base, arguments);
  TEMPER_GPU(cuStreamSynchronize, stream_);
  const auto begin = Clock::now();
  for (int i = 0; i < kRepeats; ++i) run(plan, kernels_[size_t(request.plan)], layout, base, arguments);
  const auto launched = Clock::now();
  TEMPER_GPU(cuStreamSynchronize, stream_);
  const auto end = Clock::now();
  host_bound = launched - begin > kHostShare * (end - begin);
  return std::chrono::duration<double, std::micro>(end - begin).count() / kRepeats;
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
