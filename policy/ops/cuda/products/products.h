#pragma once
// The products of the decoder on a GPU, through cuBLASLt: bf16 in, f32 sums, k in order.
//
// Exact:  a row's bits are the same whatever the number of rows: algorithms that split k are forbidden, and
//         all others add k in order (measured; Policy's self-check looks again at every start).
// Async:  enqueues on `stream`, always the same one: calls share a workspace. The first call of a shape asks
//         cuBLASLt for algorithms, unless a similar one has; linear up to kTimedRows rows also tries the best
//         of them on the operands and waits for the result. May be captured into a graph; what has not run
//         before is then taken untried.
// Errors: WorldError naming the shape if cuBLASLt knows no algorithm for it.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

namespace temper::policy::cuda {

// Up to here each number of rows is tried for itself: decoding sees few, each very often.
constexpr int64_t kTimedRows = 512;

class Products {
 public:
  Products();  // on the current device
  ~Products();

  // y [rows, n] = x [rows, k] · wᵀ (+ bias [n]) (+ residual [rows, n]), w [n, k], rounded once. bias and residual may
  // be null. y may be the same as residual, which costs a copy of it and does not change the bits.
  void linear(const void* x, const void* w, const void* bias, const void* residual, int64_t rows, int64_t k,
              int64_t n, void* y, cudaStream_t stream);

  // dx [rows, k] = dy [rows, n] · w [n, k]
  void linear_backward_input(const void* dy, const void* w, int64_t rows, int64_t k, int64_t n, void* dx,
                             cudaStream_t stream);

  // dw [n, k] f32 += dyᵀ · x, dy [rows, n], x [rows, k]; without `add` dw becomes that, with the bits of a sum to zeros
  void linear_backward_weight(const void* dy, const void* x, int64_t rows, int64_t k, int64_t n, bool add,
                              float* dw, cudaStream_t stream);

  static int64_t library_version();  // cublasLtGetVersion

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace temper::policy::cuda
