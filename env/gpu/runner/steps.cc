#include "env/gpu/runner/steps.h"

#include <algorithm>
#include <cstring>

namespace temper::env {
namespace {

void launch(const KernelLaunch& step, CUfunction kernel, const std::vector<uint8_t>& arguments,
            CUstream stream, bool first) {
  size_t size = arguments.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<uint8_t*>(arguments.data()),
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  CUlaunchAttribute attributes[3];
  CUlaunchConfig config{};
  config.gridDimX = step.grid.x, config.gridDimY = step.grid.y, config.gridDimZ = step.grid.z;
  config.blockDimX = step.block.x, config.blockDimY = step.block.y, config.blockDimZ = step.block.z;
  config.sharedMemBytes = step.shared_bytes;
  config.hStream = stream;
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

void fill(const Memset& step, CUdeviceptr to, CUstream stream) {
  const auto count = size_t(step.count);
  if (step.width == 4) return TEMPER_GPU(cuMemsetD32Async, to, step.value, count, stream);
  if (step.width == 2) return TEMPER_GPU(cuMemsetD16Async, to, uint16_t(step.value), count, stream);
  TEMPER_GPU(cuMemsetD8Async, to, uint8_t(step.value), count, stream);
}

// As Triton's driver asks for them.
void encode(const TensorMap& map, CUdeviceptr address, uint8_t* to) {
  CUtensorMap encoded;
  static_assert(sizeof encoded == kTensorMapBytes);
  cuuint64_t sizes[kMaxTensorRank] = {}, strides[kMaxTensorRank] = {};
  cuuint32_t box[kMaxTensorRank] = {}, steps[kMaxTensorRank] = {1, 1, 1, 1, 1};
  std::ranges::copy(map.sizes, sizes);
  std::ranges::copy(map.strides, strides);
  std::ranges::copy(map.box, box);
  check_candidate(driver().cuTensorMapEncodeTiled(
                      &encoded, CUtensorMapDataType(map.element_type), cuuint32_t(map.sizes.size()),
                      reinterpret_cast<void*>(address), sizes, strides, box, steps,
                      CU_TENSOR_MAP_INTERLEAVE_NONE, CUtensorMapSwizzle(map.swizzle),
                      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CUtensorMapFloatOOBfill(map.fill)),
                  "cuTensorMapEncodeTiled", GpuRunnerStatus::kLaunchFailed, "a tensor map is refused");
  std::memcpy(to, &encoded, sizeof encoded);
}

}  // namespace

void check_candidate(CUresult code, const char* call, GpuRunnerStatus status, const std::string& what) {
  if (code == CUDA_SUCCESS) return;
  const GpuError error(code, call);
  if (error.context_lost()) throw error;
  if (code == CUDA_ERROR_OUT_OF_MEMORY) status = GpuRunnerStatus::kNoMemory;
  throw CandidateError{status, error.reason(), fmt::format("{}: {}", what, error.words())};
}

PlacedPlan::PlacedPlan(const LaunchPlan& what, const std::vector<CUfunction>& functions, CallLayout how,
                       CUdeviceptr where)
    : plan(what), kernels(functions), layout(std::move(how)), base(where) {
  for (const Step& step : plan.steps) {
    auto& bytes = arguments.emplace_back();
    const auto* launch = std::get_if<KernelLaunch>(&step);
    if (launch == nullptr) continue;
    bytes = launch->arguments;
    for (const Relocation& relocation : launch->relocations) {
      const CUdeviceptr pointer = address(relocation.pointer);
      std::memcpy(&bytes.at(relocation.at), &pointer, sizeof pointer);
    }
    for (const TensorMap& map : launch->tensor_maps) encode(map, address(map.pointer), &bytes.at(map.at));
  }
}

CUdeviceptr PlacedPlan::address(const DevicePointer& pointer) const {
  const auto& buffers = pointer.space == Space::kInput    ? layout.inputs
                        : pointer.space == Space::kOutput ? layout.outputs
                                                          : layout.workspaces;
  return base + CUdeviceptr(buffers.at(pointer.index).offset + pointer.offset);
}

void run_steps(const PlacedPlan& placed, CUstream stream, Steps steps) {
  for (size_t i = 0; i < placed.plan.steps.size(); ++i) {
    const Step& step = placed.plan.steps[i];
    if (const auto* kernel = std::get_if<KernelLaunch>(&step)) {
      if (steps == Steps::kAll)
        launch(*kernel, placed.kernels.at(kernel->kernel), placed.arguments[i], stream, i == 0);
    } else if (const auto* memset = std::get_if<Memset>(&step)) {
      fill(*memset, placed.address(memset->to), stream);
    } else {
      const Copy& copy = std::get<Copy>(step);
      TEMPER_GPU(cuMemcpyDtoDAsync, placed.address(copy.to), placed.address(copy.from), size_t(copy.bytes),
                 stream);
    }
  }
}

}  // namespace temper::env
