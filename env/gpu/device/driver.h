#pragma once
// NVIDIA's driver library. It is loaded when it is first needed, so that programs that use it also start on
// machines without it and can report that it is missing.

#include <cuda.h>

#include <string>

#include "base/error.h"
#include "env/plan/target.h"

namespace temper::env {

#define TEMPER_DRIVER_CALLS(X)      \
  X(cuInit)                         \
  X(cuDeviceGet)                    \
  X(cuDeviceGetCount)               \
  X(cuDeviceGetName)                \
  X(cuDeviceGetUuid)                \
  X(cuDeviceGetAttribute)           \
  X(cuDeviceTotalMem)               \
  X(cuDriverGetVersion)             \
  X(cuDevicePrimaryCtxRetain)       \
  X(cuDevicePrimaryCtxSetFlags)     \
  X(cuCtxSetCurrent)                \
  X(cuCtxResetPersistingL2Cache)    \
  X(cuCtxGetLimit)                  \
  X(cuCtxSetLimit)                  \
  X(cuGetErrorName)                 \
  X(cuGetErrorString)               \
  X(cuMemGetInfo)                   \
  X(cuMemAlloc)                     \
  X(cuMemFree)                      \
  X(cuMemCreate)                    \
  X(cuCtxGetDevice)                 \
  X(cuMemMap)                       \
  X(cuMemAddressReserve)            \
  X(cuMemSetAccess)                 \
  X(cuMemGetAllocationGranularity)  \
  X(cuMemExportToShareableHandle)   \
  X(cuMemImportFromShareableHandle) \
  X(cuMemsetD8Async)                \
  X(cuMemsetD16Async)               \
  X(cuMemsetD32Async)               \
  X(cuMemcpyDtoDAsync)              \
  X(cuMemcpyDtoH)                   \
  X(cuModuleLoadData)               \
  X(cuModuleUnload)                 \
  X(cuModuleGetFunction)            \
  X(cuModuleGetGlobal)              \
  X(cuFuncSetAttribute)             \
  X(cuLaunchKernelEx)               \
  X(cuTensorMapEncodeTiled)         \
  X(cuStreamCreate)                 \
  X(cuStreamSynchronize)            \
  X(cuEventCreate)                  \
  X(cuEventRecord)                  \
  X(cuEventSynchronize)             \
  X(cuEventElapsedTime)

struct Driver {
#define TEMPER_DRIVER_MEMBER(name) decltype(&::name) name = nullptr;
  TEMPER_DRIVER_CALLS(TEMPER_DRIVER_MEMBER)
#undef TEMPER_DRIVER_MEMBER
};

// Errors: WorldError if there is no NVIDIA driver, or one too old.
const Driver& driver();

// An error that the driver returned.
class GpuError : public WorldError {
 public:
  GpuError(CUresult code, const char* call);
  std::string reason() const;  // "illegal_address"
  std::string words() const;   // "an illegal memory access was encountered"
  // Code that ran on it ended the context: it answers every call with this error from now on.
  bool context_lost() const;

 private:
  CUresult code_;
};

inline void check_gpu(CUresult code, const char* call) {
  if (code != CUDA_SUCCESS) [[unlikely]]
    throw GpuError(code, call);
}
#define TEMPER_GPU(call, ...) ::temper::env::check_gpu(::temper::env::driver().call(__VA_ARGS__), #call)

// The properties of a GPU that its judge needs.
struct GpuFacts {
  std::string name, uuid;  // "NVIDIA H200", "GPU-…"
  int capability = 0;      // 90 for 9.0
  int multiprocessors = 0;
  int64_t memory_bytes = 0, l2_bytes = 0;
  double bytes_per_s = 0;  // nominal memory bandwidth
  double clock_hz = 0;     // the highest
  int driver = 0;          // 13000 for CUDA 13.0
  GpuTarget target;        // what host code may ask of it
};

// Of GPU `ordinal`, counted around; makes no context. Errors: WorldError.
GpuFacts look_at_gpu(int ordinal);

// Makes the context of GPU `ordinal`, counted around, current in this thread. Errors: WorldError.
GpuFacts enter_gpu(int ordinal);

}  // namespace temper::env
