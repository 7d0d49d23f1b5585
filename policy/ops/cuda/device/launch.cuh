#pragma once
// A launch whose blocks come to the multiprocessors while the kernel before it on the stream ends, also
// within graphs: decode is a chain of kernels of a few microseconds. Source: CUDA programming guide,
// programmatic dependent launch.

#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {

// Kernels launched early call this before they touch what another may have written, or may still read.
__device__ inline void wait_for_previous() { cudaGridDependencySynchronize(); }

// The next kernel, if launched early, may come now, while this one runs: it too waits for what it reads.
__device__ inline void start_next() { cudaTriggerProgrammaticLaunchCompletion(); }

template <class... Parameters, class... Arguments>
void launch_early(void (*kernel)(Parameters...), dim3 grid, int threads, int shared_bytes,
                  cudaStream_t stream, const char* op, Arguments... arguments) {
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(unsigned(threads));
  config.dynamicSmemBytes = size_t(shared_bytes);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), op);
}

}  // namespace temper::policy::cuda
