#pragma once
// One product as cuBLASLt sees it: what the library wants to know, and which of its algorithms may be taken.

#include <cublasLt.h>

#include <cstdint>
#include <vector>

namespace temper::policy::cuda {

constexpr size_t kProductWorkspaceBytes = size_t(64) << 20;  // more than the cache holds

// WorldError with the library's text.
void check_lt(cublasStatus_t status, const char* what);

// In the library's terms, column by column: D [m, n] = op(A) · op(B) + β·C + bias [m], rounded once.
enum class ProductKind { kLinear, kInputGradient, kWeightGradient };
struct ProductKey {
  ProductKind kind;
  int64_t rows, k, n;
  bool add;  // β = 1
  bool bias;
  int alignment;  // bytes, of all operands
  auto operator<=>(const ProductKey&) const = default;
};

struct ProductOperands {
  const void *a, *b, *c, *bias;
  void* d;
  bool anew = false;  // β = 0 in a plan that adds: C is not read, and the algorithm is the same
};

double flops(const ProductKey& key);
uint32_t tile_of(const cublasLtMatmulAlgo_t& algorithm);  // a cublasLtMatmulTile_t

// A product of one shape, and the algorithm chosen.
class ProductPlan {
 public:
  explicit ProductPlan(const ProductKey& key);
  ~ProductPlan();
  ProductPlan(const ProductPlan&) = delete;
  ProductPlan& operator=(const ProductPlan&) = delete;

  // Algorithms that sum over k in one chain, the most promising first. With `split`, the heuristic is asked for
  // algorithms that may split sums, and splitting is then turned off in them.
  std::vector<cublasLtMatmulAlgo_t> candidates(cublasLtHandle_t handle, int alignment, bool split) const;
  bool takes(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& candidate) const;
  // `workspace` of kProductWorkspaceBytes.
  cublasStatus_t run(cublasLtHandle_t handle, const ProductOperands& o, const cublasLtMatmulAlgo_t& chosen,
                     void* workspace, cudaStream_t stream) const;

  cublasLtMatmulAlgo_t algorithm;

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) const;
  void layouts(int64_t a_rows, int64_t a_columns, int64_t b_rows, int64_t b_columns, int64_t d_rows,
               int64_t d_columns, cudaDataType_t out);

  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  float beta_ = 0;
};

}  // namespace temper::policy::cuda
