// The CUDA runtime as a candidate sees it: the one device, its one stream, and errors.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "env/plan/recorder/errors.h"
#include "env/plan/recorder/recorder.h"

namespace temper::env {
namespace {

Recorder& recorder() { return Recorder::get(); }

cudaError_t error(int code, std::string words = "") {
  return cudaError_t(recorder().error(code, std::move(words)));
}

constexpr int kMaxConstant = 65536;

int persisting_l2(const GpuTarget& target) { return target.l2_bytes / 4 * 3; }

// The attributes that launchers query. All others are 0.
std::map<int, int> attributes_of(const GpuTarget& t) {
  return {
      {cudaDevAttrMaxThreadsPerBlock, t.max_threads_per_block},
      {cudaDevAttrMaxBlockDimX, t.max_threads_per_block},
      {cudaDevAttrMaxBlockDimY, t.max_threads_per_block},
      {cudaDevAttrMaxBlockDimZ, 64},
      {cudaDevAttrMaxGridDimX, 0x7FFFFFFF},
      {cudaDevAttrMaxGridDimY, 65535},
      {cudaDevAttrMaxGridDimZ, 65535},
      {cudaDevAttrMaxSharedMemoryPerBlock, t.shared_per_block},
      {cudaDevAttrTotalConstantMemory, kMaxConstant},
      {cudaDevAttrWarpSize, t.warp_size},
      {cudaDevAttrMaxPitch, 0x7FFFFFFF},
      {cudaDevAttrMaxRegistersPerBlock, t.registers_per_multiprocessor},
      {cudaDevAttrClockRate, t.clock_khz},
      {cudaDevAttrTextureAlignment, 512},
      {cudaDevAttrMultiProcessorCount, t.multiprocessors},
      {cudaDevAttrConcurrentKernels, 1},
      {cudaDevAttrMemoryClockRate, t.memory_clock_khz},
      {cudaDevAttrGlobalMemoryBusWidth, t.memory_bus_bits},
      {cudaDevAttrL2CacheSize, t.l2_bytes},
      {cudaDevAttrMaxThreadsPerMultiProcessor, t.max_threads_per_multiprocessor},
      {cudaDevAttrUnifiedAddressing, 1},
      {cudaDevAttrComputeCapabilityMajor, t.major},
      {cudaDevAttrComputeCapabilityMinor, t.minor},
      {cudaDevAttrStreamPrioritiesSupported, 1},
      {cudaDevAttrGlobalL1CacheSupported, 1},
      {cudaDevAttrLocalL1CacheSupported, 1},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, t.shared_per_multiprocessor},
      {cudaDevAttrMaxRegistersPerMultiprocessor, t.registers_per_multiprocessor},
      {cudaDevAttrSingleToDoublePrecisionPerfRatio, 2},
      {cudaDevAttrComputePreemptionSupported, 1},
      {cudaDevAttrCooperativeLaunch, 1},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, t.shared_per_block_optin},
      {cudaDevAttrMaxBlocksPerMultiprocessor, t.max_blocks_per_multiprocessor},
      {cudaDevAttrMaxPersistingL2CacheSize, persisting_l2(t)},
      {cudaDevAttrReservedSharedMemoryPerBlock, t.reserved_shared_per_block},
      {cudaDevAttrMemoryPoolsSupported, 1},
      {cudaDevAttrClusterLaunch, 1},
  };
}

bool is_default(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

cudaError_t check_device(int device) {
  return device == 0 ? cudaSuccess : error(kInvalidDevice, "there is one device, 0");
}

}  // namespace
}  // namespace temper::env

using namespace temper::env;  // NOLINT: the functions below are C

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return check_device(device); }
cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return check_device(device); }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  const auto attributes = attributes_of(recorder().target());
  const auto it = attributes.find(attribute);
  *value = it == attributes.end() ? 0 : it->second;
  return check_device(device);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* result, int device) {
  const GpuTarget& t = recorder().target();
  cudaDeviceProp p{};
  std::memcpy(p.name, t.name, sizeof t.name);
  p.totalGlobalMem = size_t(t.memory_bytes);
  p.sharedMemPerBlock = size_t(t.shared_per_block);
  p.regsPerBlock = p.regsPerMultiprocessor = t.registers_per_multiprocessor;
  p.warpSize = t.warp_size;
  p.memPitch = 0x7FFFFFFF;
  p.maxThreadsPerBlock = p.maxThreadsDim[0] = p.maxThreadsDim[1] = t.max_threads_per_block;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 0x7FFFFFFF;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.totalConstMem = kMaxConstant;
  p.major = t.major;
  p.minor = t.minor;
  p.textureAlignment = 512;
  p.multiProcessorCount = t.multiprocessors;
  p.concurrentKernels = p.unifiedAddressing = p.streamPrioritiesSupported = 1;
  p.memoryBusWidth = t.memory_bus_bits;
  p.l2CacheSize = t.l2_bytes;
  p.persistingL2CacheMaxSize = persisting_l2(t);
  p.maxThreadsPerMultiProcessor = t.max_threads_per_multiprocessor;
  p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = size_t(t.shared_per_multiprocessor);
  p.cooperativeLaunch = p.computePreemptionSupported = p.memoryPoolsSupported = p.clusterLaunch = 1;
  p.sharedMemPerBlockOptin = size_t(t.shared_per_block_optin);
  p.maxBlocksPerMultiProcessor = t.max_blocks_per_multiprocessor;
  p.reservedSharedMemPerBlock = size_t(t.reserved_shared_per_block);
  *result = p;
  return check_device(device);
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = 0;
  return cudaSuccess;
}

// Recorded work does not run, so there is nothing to wait for.
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return is_default(stream) ? cudaSuccess : error(kInvalidResourceHandle, "there is one stream, 0");
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamGetFlags(cudaStream_t, unsigned* flags) {
  *flags = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t, int* priority) {
  *priority = 0;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() { return cudaError_t(recorder().take_last_error()); }
cudaError_t cudaPeekAtLastError() { return cudaError_t(recorder().last_error()); }
const char* cudaGetErrorName(cudaError_t code) { return error_name(code); }
const char* cudaGetErrorString(cudaError_t code) { return error_text(code); }

}  // extern "C"
