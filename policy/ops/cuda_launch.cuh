#pragma once
// A launch whose blocks come to the multiprocessors while the kernel before it on the stream ends, also
// within graphs: decode is a chain of kernels of a few microseconds. Source: CUDA programming guide,
// programmatic dependent launch.

#include "policy/ops/cuda.h"

namespace temper::cuda {

// Kernels launched early call this before they touch what another may have written, or may still read.
__device__ inline void wait_for_previous() { cudaGridDependencySynchronize(); }

template <class... Parameters, class... Arguments>
void launch_early(void (*kernel)(Parameters...), dim3 grid, int threads, cudaStream_t stream, const char* op,
                  Arguments... arguments) {
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(unsigned(threads));
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), op);
}

}  // namespace temper::cuda
