#pragma once
// Which algorithm of a short product is the fastest, by the clock.

#include <vector>

#include "policy/ops/cuda/products/product_plan.h"

namespace temper::policy::cuda {

class ProductTimer {
 public:
  // `workspace` of kProductWorkspaceBytes.
  ProductTimer(cublasLtHandle_t handle, void* workspace);
  ~ProductTimer();
  ProductTimer(const ProductTimer&) = delete;
  ProductTimer& operator=(const ProductTimer&) = delete;

  // The weights out of the cache, as they are when layers take turns. Writes the output.
  cublasLtMatmulAlgo_t fastest(const ProductPlan& plan, const std::vector<cublasLtMatmulAlgo_t>& found,
                               const ProductOperands& o, cudaStream_t stream);

 private:
  float least_milliseconds(const ProductPlan& plan, const cublasLtMatmulAlgo_t& algorithm,
                           const ProductOperands& o, float best, cudaStream_t stream);

  cublasLtHandle_t handle_;
  void* workspace_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace temper::policy::cuda
