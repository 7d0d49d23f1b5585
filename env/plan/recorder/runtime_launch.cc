// The CUDA runtime as a candidate sees it: registration, launches, functions and occupancy.

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "env/plan/recorder/errors.h"
#include "env/plan/recorder/recorder.h"

namespace temper::env {
namespace {

static_assert(kInvalidClusterSize == int(cudaErrorInvalidClusterSize) &&
              kLaunchOutOfResources == int(cudaErrorLaunchOutOfResources) &&
              kCooperativeLaunchTooLarge == int(cudaErrorCooperativeLaunchTooLarge) &&
              kInvalidPitchValue == int(cudaErrorInvalidPitchValue) &&
              kInvalidConfiguration == int(cudaErrorInvalidConfiguration) &&
              kInvalidResourceHandle == int(cudaErrorInvalidResourceHandle) &&
              kInvalidDeviceFunction == int(cudaErrorInvalidDeviceFunction) &&
              kInvalidDevice == int(cudaErrorInvalidDevice) && kNotSupported == int(cudaErrorNotSupported) &&
              kMemoryAllocation == int(cudaErrorMemoryAllocation));

Recorder& recorder() { return Recorder::get(); }

cudaError_t error(int code, std::string words = "") {
  return cudaError_t(recorder().error(code, std::move(words)));
}

// There is one stream; null, the legacy and the thread's default are all it.
bool is_default(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

Extent extent(dim3 size) { return {size.x, size.y, size.z}; }

cudaError_t launch(const void* function, KernelLaunch wanted, size_t shared, void** arguments,
                   cudaStream_t stream) {
  const int kernel = recorder().find_kernel(function);
  if (kernel < 0) return error(kInvalidDeviceFunction, "a launch of what is no kernel");
  if (!is_default(stream)) return error(kInvalidResourceHandle, "there is one stream, 0");
  wanted.shared_bytes = uint32_t(std::min<size_t>(shared, 0xFFFFFFFF));
  return cudaError_t(recorder().launch(kernel, std::move(wanted), arguments));
}

KernelLaunch plain(dim3 grid, dim3 block) {
  KernelLaunch wanted;
  wanted.grid = extent(grid);
  wanted.block = extent(block);
  return wanted;
}

void apply(const cudaLaunchAttribute& attribute, KernelLaunch& wanted) {
  switch (attribute.id) {
    case cudaLaunchAttributeClusterDimension:
      wanted.cluster = {attribute.val.clusterDim.x, attribute.val.clusterDim.y, attribute.val.clusterDim.z};
      break;
    case cudaLaunchAttributeCooperative:
      wanted.cooperative = attribute.val.cooperative != 0;
      break;
    case cudaLaunchAttributeProgrammaticStreamSerialization:
      wanted.programmatic = attribute.val.programmaticStreamSerializationAllowed != 0;
      break;
    case cudaLaunchAttributeIgnore:  // and hints that change nothing in one stream
    case cudaLaunchAttributeSynchronizationPolicy:
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributeMemSyncDomain:
      break;
    default:
      fail_plan("launch_attribute",
                "a launch attribute that plans do not have; there are cluster dimension, cooperative "
                "and programmatic stream serialization");
  }
}

struct Configuration {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
};
std::vector<Configuration>& configurations() {
  static std::vector<Configuration> stack;
  return stack;
}

int no_function() { return error(kInvalidDeviceFunction, "a question about what is no kernel"); }

}  // namespace
}  // namespace temper::env

using namespace temper::env;  // NOLINT: the functions below are C

extern "C" {

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {
  recorder().register_function(host, name);
}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int, int) {
  fail_plan("managed_memory", "__managed__ variables; the host cannot see GPU memory: use kernel arguments");
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  configurations().push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (configurations().empty()) return error(kInvalidConfiguration);
  const Configuration top = configurations().back();
  configurations().pop_back();
  *grid = top.grid, *block = top.block, *shared = top.shared;
  std::memcpy(stream, &top.stream, sizeof top.stream);
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* handle, const void* function) {
  const int kernel = recorder().find_kernel(function);
  if (kernel < 0) return cudaErrorInvalidDeviceFunction;  // said when it is launched
  *handle = static_cast<cudaKernel_t>(const_cast<void*>(recorder().handle(kernel)));
  return cudaSuccess;
}
cudaError_t cudaGetKernel(cudaKernel_t* handle, const void* function) {
  return __cudaGetKernel(handle, function);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
  return launch(kernel, plain(grid, block), shared, arguments, stream);
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  return launch(function, plain(grid, block), shared, arguments, stream);
}
cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared, cudaStream_t stream) {
  KernelLaunch wanted = plain(grid, block);
  wanted.cooperative = true;
  return launch(function, std::move(wanted), shared, arguments, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  if (config == nullptr) return error(kInvalidValue);
  KernelLaunch wanted = plain(config->gridDim, config->blockDim);
  for (unsigned i = 0; i < config->numAttrs; ++i) apply(config->attrs[i], wanted);
  return launch(function, std::move(wanted), config->dynamicSmemBytes, arguments, config->stream);
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  const int kernel = recorder().find_kernel(function);
  if (kernel < 0) return cudaError_t(no_function());
  PlanKernel& settings = recorder().settings(kernel);
  const uint32_t most = max_dynamic_shared(recorder().kernel(kernel), recorder().target());
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      if (value < 0 || uint32_t(value) > most)
        return error(kInvalidValue,
                     fmt::format("cudaFuncSetAttribute: {} bytes of dynamic shared memory for {}; at most {}",
                                 value, settings.name, most));
      settings.max_dynamic_shared = uint32_t(value);
      return cudaSuccess;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      if (value < -1 || value > 100)
        return error(kInvalidValue, "cudaFuncSetAttribute: a carve-out is -1 to 100 percent");
      settings.shared_carveout = value;
      return cudaSuccess;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      settings.nonportable_cluster = value != 0;
      return cudaSuccess;
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
      return cudaSuccess;
    default:
      return error(kInvalidValue, "cudaFuncSetAttribute: an attribute that cannot be set");
  }
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* result, const void* function) {
  const int kernel = recorder().find_kernel(function);
  if (kernel < 0 || result == nullptr) return cudaError_t(no_function());
  const CubinKernel& its = recorder().kernel(kernel);
  const PlanKernel& settings = recorder().settings(kernel);
  const GpuTarget& target = recorder().target();
  *result = {};
  result->sharedSizeBytes = its.static_shared;
  result->localSizeBytes = its.stack_bytes;
  result->maxThreadsPerBlock = int(max_threads(its, target));
  result->numRegs = int(its.registers);
  result->ptxVersion = result->binaryVersion = 10 * target.major + target.minor;
  const uint32_t unasked =
      uint32_t(target.shared_per_block) - std::min(uint32_t(target.shared_per_block), its.static_shared);
  result->maxDynamicSharedSizeBytes = int(std::max(unasked, settings.max_dynamic_shared));
  result->preferredShmemCarveout = settings.shared_carveout;
  result->nonPortableClusterSizeAllowed = settings.nonportable_cluster;
  if (its.fixed_cluster) {
    result->clusterDimMustBeSet = 1;
    result->requiredClusterWidth = int(its.cluster.x);
    result->requiredClusterHeight = int(its.cluster.y);
    result->requiredClusterDepth = int(its.cluster.z);
  }
  return cudaSuccess;
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  const int kernel = recorder().find_kernel(function);
  if (kernel < 0) return cudaError_t(no_function());
  *name = recorder().settings(kernel).name.c_str();
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t shared) {
  const int kernel = recorder().find_kernel(function);
  if (kernel < 0) return cudaError_t(no_function());
  if (threads <= 0) return error(kInvalidValue, "a question about a block of no threads");
  *blocks = resident_blocks(recorder().kernel(kernel), uint32_t(threads), shared, recorder().target());
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                   int threads, size_t shared, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared, const void* function, int blocks,
                                                      int threads) {
  const int kernel = recorder().find_kernel(function);
  if (kernel < 0) return cudaError_t(no_function());
  const GpuTarget& target = recorder().target();
  const CubinKernel& its = recorder().kernel(kernel);
  if (blocks <= 0 || threads <= 0 || blocks > resident_blocks(its, uint32_t(threads), 0, target))
    return error(kInvalidValue);
  const int64_t share =
      target.shared_per_multiprocessor / blocks / 128 * 128 - target.reserved_shared_per_block;
  const int64_t free = std::min<int64_t>(share, target.shared_per_block_optin) - its.static_shared;
  *shared = size_t(std::max<int64_t>(0, free));
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function, const cudaLaunchConfig_t*) {
  const int kernel = recorder().find_kernel(function);
  if (kernel < 0) return cudaError_t(no_function());
  const GpuTarget& target = recorder().target();
  *size = recorder().settings(kernel).nonportable_cluster ? target.max_cluster : target.portable_cluster;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config) {
  const int kernel = recorder().find_kernel(function);
  if (kernel < 0 || config == nullptr) return cudaError_t(no_function());
  KernelLaunch wanted = plain(config->gridDim, config->blockDim);
  for (unsigned i = 0; i < config->numAttrs; ++i) apply(config->attrs[i], wanted);
  const CubinKernel& its = recorder().kernel(kernel);
  const Extent cluster = its.fixed_cluster ? its.cluster : wanted.cluster;
  const uint64_t blocks =
      uint64_t(resident_blocks(its, uint32_t(std::min<uint64_t>(wanted.block.count(), 4096)),
                               config->dynamicSmemBytes, recorder().target()));
  *clusters =
      int(blocks * uint64_t(recorder().target().multiprocessors) / std::max<uint64_t>(1, cluster.count()));
  return cudaSuccess;
}

}  // extern "C"
