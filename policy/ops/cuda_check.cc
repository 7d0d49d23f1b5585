#include "base/error.h"
#include "policy/ops/cuda.h"

namespace temper::cuda {

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw WorldError("{}: {}", what, cudaGetErrorString(error));
}

void require(bool right, const char* what) { TEMPER_CHECK(right, "{}", what); }

}  // namespace temper::cuda
