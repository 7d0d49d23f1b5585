#include "policy/ops/cuda/products/product_plan.h"

#include <span>

#include "base/error.h"

namespace temper::policy::cuda {
namespace {

constexpr int kCandidates = 8;

class Preference {
 public:
  Preference(int alignment, bool split) {
    check_lt(cublasLtMatmulPreferenceCreate(&preference_), "preference");
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(kProductWorkspaceBytes));
    if (!split) set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t(CUBLASLT_REDUCTION_SCHEME_NONE));
    for (auto operand :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set(operand, uint32_t(alignment));
  }
  ~Preference() { cublasLtMatmulPreferenceDestroy(preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  cublasLtMatmulPreference_t get() const { return preference_; }

 private:
  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, T value) {
    check_lt(cublasLtMatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof value),
             "preference");
  }
  cublasLtMatmulPreference_t preference_ = nullptr;
};

template <class T>
T attribute(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t name) {
  T value{};
  size_t written = 0;
  check_lt(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, name, &value, sizeof value, &written),
           "algorithm");
  return value;
}

template <class T>
void set_attribute(cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t name, T value) {
  check_lt(cublasLtMatmulAlgoConfigSetAttribute(&algorithm, name, &value, sizeof value), "algorithm");
}

// The mask of the preference should see to it; a split would cost exactness silently. What has no tile is a
// product of another kind, with other bits (algorithm 16 of version 13.1).
bool sums_in_one_chain(const cublasLtMatmulAlgo_t& a) {
  return attribute<int32_t>(a, CUBLASLT_ALGO_CONFIG_SPLITK_NUM) <= 1 &&
         attribute<uint32_t>(a, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) == CUBLASLT_REDUCTION_SCHEME_NONE &&
         tile_of(a) != CUBLASLT_MATMUL_TILE_UNDEFINED;
}

}  // namespace

void check_lt(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw WorldError("cuBLASLt: {}: {}", what, cublasLtGetStatusString(status));
}

double flops(const ProductKey& key) { return 2 * double(key.rows) * double(key.k) * double(key.n); }

uint32_t tile_of(const cublasLtMatmulAlgo_t& algorithm) {
  return attribute<uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID);
}

template <class T>
void ProductPlan::set(cublasLtMatmulDescAttributes_t attribute, T value) const {
  check_lt(cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof value), "descriptor");
}

ProductPlan::ProductPlan(const ProductKey& key) {
  const bool weight = key.kind == ProductKind::kWeightGradient, linear = key.kind == ProductKind::kLinear;
  const cudaDataType_t out = weight ? CUDA_R_32F : CUDA_R_16BF;
  check_lt(cublasLtMatmulDescCreate(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "descriptor");
  set(CUBLASLT_MATMUL_DESC_TRANSA, linear ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, weight ? CUBLAS_OP_T : CUBLAS_OP_N);
  switch (key.kind) {
    case ProductKind::kLinear:
      layouts(key.k, key.n, key.k, key.rows, key.n, key.rows, out);
      break;
    case ProductKind::kInputGradient:
      layouts(key.k, key.n, key.n, key.rows, key.k, key.rows, out);
      break;
    case ProductKind::kWeightGradient:
      layouts(key.k, key.rows, key.n, key.rows, key.k, key.n, out);
      break;
  }
  if (key.bias) set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  beta_ = key.add ? 1 : 0;
}

ProductPlan::~ProductPlan() {
  for (auto layout : {a_, b_, d_}) cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(product_);
}

void ProductPlan::layouts(int64_t a_rows, int64_t a_columns, int64_t b_rows, int64_t b_columns,
                          int64_t d_rows, int64_t d_columns, cudaDataType_t out) {
  const auto make = [](cublasLtMatrixLayout_t& layout, cudaDataType_t type, int64_t rows, int64_t columns) {
    check_lt(cublasLtMatrixLayoutCreate(&layout, type, uint64_t(rows), uint64_t(columns), rows), "layout");
  };
  make(a_, CUDA_R_16BF, a_rows, a_columns);
  make(b_, CUDA_R_16BF, b_rows, b_columns);
  make(d_, out, d_rows, d_columns);
}

bool ProductPlan::takes(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& candidate) const {
  cublasLtMatmulHeuristicResult_t result;
  return cublasLtMatmulAlgoCheck(handle, product_, a_, b_, d_, d_, &candidate, &result) ==
             CUBLAS_STATUS_SUCCESS &&
         result.workspaceSize <= kProductWorkspaceBytes;
}

cublasStatus_t ProductPlan::run(cublasLtHandle_t handle, const ProductOperands& o,
                                const cublasLtMatmulAlgo_t& chosen, void* workspace,
                                cudaStream_t stream) const {
  const float one = 1, beta = o.anew ? 0 : beta_;
  if (o.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, o.bias);
  return cublasLtMatmul(handle, product_, &one, o.a, a_, o.b, b_, &beta, o.c ? o.c : o.d, d_, o.d, d_,
                        &chosen, workspace, kProductWorkspaceBytes, stream);
}

std::vector<cublasLtMatmulAlgo_t> ProductPlan::candidates(cublasLtHandle_t handle, int alignment,
                                                          bool split) const {
  const Preference preference(alignment, split);
  cublasLtMatmulHeuristicResult_t found[kCandidates];
  int count = 0;
  const auto status = cublasLtMatmulAlgoGetHeuristic(handle, product_, a_, b_, d_, d_, preference.get(),
                                                     kCandidates, found, &count);
  std::vector<cublasLtMatmulAlgo_t> result;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return result;
  check_lt(status, "cublasLtMatmulAlgoGetHeuristic");
  for (auto& f : std::span(found, size_t(count))) {
    if (f.state != CUBLAS_STATUS_SUCCESS) continue;
    if (split) {
      set_attribute(f.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, int32_t(1));
      set_attribute(f.algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, uint32_t(CUBLASLT_REDUCTION_SCHEME_NONE));
    }
    if (sums_in_one_chain(f.algo)) result.push_back(f.algo);
  }
  return result;
}

}  // namespace temper::policy::cuda
