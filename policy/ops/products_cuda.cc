#include "policy/ops/products_cuda.h"

#include <cublasLt.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "policy/ops/cuda.h"

namespace temper::cuda {
namespace {

constexpr size_t kWorkspaceBytes = size_t(64) << 20;  // more than the cache holds
constexpr size_t kResidualBytes = size_t(32) << 20;   // of residuals that the output replaces
constexpr int kCandidates = 8;
constexpr int kRepetitions = 3;
constexpr double kTimingSeconds = 4;  // of all shapes together; then the library's first choice

void check_lt(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw WorldError("cuBLASLt: {}: {}", what, cublasLtGetStatusString(status));
}

// In the library's terms, column by column: D [m, n] = op(A) · op(B) + β·C.
enum class Kind { kLinear, kInputGradient, kWeightGradient };
struct Key {
  Kind kind;
  int64_t rows, k, n;
  bool add;       // β = 1
  int alignment;  // bytes, of all operands
  auto operator<=>(const Key&) const = default;
};

struct Operands {
  const void *a, *b, *c;
  void* d;
};

int common_alignment(const Operands& o) {
  uintptr_t bits = 256;
  for (const void* p : {o.a, o.b, o.c, static_cast<const void*>(o.d)}) bits |= reinterpret_cast<uintptr_t>(p);
  return int(bits & -bits);
}

bool capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

// A product of one shape: what the library wants to know of it, and the algorithm chosen.
class Plan {
 public:
  explicit Plan(const Key& key) {
    const bool weight = key.kind == Kind::kWeightGradient, linear = key.kind == Kind::kLinear;
    const cudaDataType_t out = weight ? CUDA_R_32F : CUDA_R_16BF;
    check_lt(cublasLtMatmulDescCreate(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "descriptor");
    set(CUBLASLT_MATMUL_DESC_TRANSA, linear ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, weight ? CUBLAS_OP_T : CUBLAS_OP_N);
    switch (key.kind) {
      case Kind::kLinear:
        layouts(key.k, key.n, key.k, key.rows, key.n, key.rows, out);
        break;
      case Kind::kInputGradient:
        layouts(key.k, key.n, key.n, key.rows, key.k, key.rows, out);
        break;
      case Kind::kWeightGradient:
        layouts(key.k, key.rows, key.n, key.rows, key.k, key.n, out);
        break;
    }
    beta_ = key.add ? 1 : 0;
  }
  ~Plan() {
    for (auto layout : {a_, b_, d_}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(product_);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // Algorithms that sum over k in one chain, the likeliest first. `split`: those found where sums may be
  // split, and then told not to.
  std::vector<cublasLtMatmulAlgo_t> candidates(cublasLtHandle_t handle, int alignment, bool split) const;

  bool takes(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& candidate) const {
    cublasLtMatmulHeuristicResult_t result;
    return cublasLtMatmulAlgoCheck(handle, product_, a_, b_, d_, d_, &candidate, &result) ==
               CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= kWorkspaceBytes;
  }

  cublasStatus_t run(cublasLtHandle_t handle, const Operands& o, const cublasLtMatmulAlgo_t& chosen,
                     void* workspace, cudaStream_t stream) const {
    const float one = 1;
    return cublasLtMatmul(handle, product_, &one, o.a, a_, o.b, b_, &beta_, o.c ? o.c : o.d, d_, o.d, d_,
                          &chosen, workspace, kWorkspaceBytes, stream);
  }

  cublasLtMatmulAlgo_t algorithm;

 private:
  void set(cublasLtMatmulDescAttributes_t attribute, cublasOperation_t value) {
    check_lt(cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof value), "transposition");
  }
  void layouts(int64_t a_rows, int64_t a_columns, int64_t b_rows, int64_t b_columns, int64_t d_rows,
               int64_t d_columns, cudaDataType_t out) {
    const auto make = [](cublasLtMatrixLayout_t& layout, cudaDataType_t type, int64_t rows, int64_t columns) {
      check_lt(cublasLtMatrixLayoutCreate(&layout, type, uint64_t(rows), uint64_t(columns), rows), "layout");
    };
    make(a_, CUDA_R_16BF, a_rows, a_columns);
    make(b_, CUDA_R_16BF, b_rows, b_columns);
    make(d_, out, d_rows, d_columns);
  }

  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  float beta_ = 0;
};

class Preference {
 public:
  Preference(int alignment, bool split) {
    check_lt(cublasLtMatmulPreferenceCreate(&preference_), "preference");
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(kWorkspaceBytes));
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
         attribute<uint32_t>(a, CUBLASLT_ALGO_CONFIG_TILE_ID) != CUBLASLT_MATMUL_TILE_UNDEFINED;
}

std::vector<cublasLtMatmulAlgo_t> Plan::candidates(cublasLtHandle_t handle, int alignment, bool split) const {
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

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace

struct Products::Impl {
  Impl() {
    check_lt(cublasLtCreate(&handle), "cublasLtCreate");
    check(cudaMalloc(&workspace, kWorkspaceBytes + kResidualBytes), "workspace of products");
  }
  ~Impl() {
    cudaFree(workspace);
    cublasLtDestroy(handle);
  }

  void run(Key key, const Operands& o, cudaStream_t stream) {
    key.alignment = common_alignment(o);
    auto at = plans.find(key);
    if (at == plans.end()) {
      auto made = std::make_unique<Plan>(key);
      made->algorithm = choose(key, *made, o, stream);
      at = plans.emplace(key, std::move(made)).first;
    }
    const Plan& plan = *at->second;
    if (const auto status = plan.run(handle, o, plan.algorithm, workspace, stream);
        status != CUBLAS_STATUS_SUCCESS)
      throw WorldError("cuBLASLt: product of {} rows, k {}, n {}: {}", key.rows, key.k, key.n,
                       cublasLtGetStatusString(status));
  }

  // In place, the library rounds the product before it adds: two roundings where there is one otherwise. So
  // the residual goes aside first, as many rows at a time as there is room for.
  void add_in_place(const void* x, const void* w, int64_t rows, int64_t k, int64_t n, void* y,
                    cudaStream_t stream) {
    const int64_t most = int64_t(kResidualBytes) / (n * 2) / 32 * 32;
    TEMPER_CHECK(most > 0, "residual of width {}", n);
    void* const aside = static_cast<char*>(workspace) + kWorkspaceBytes;
    for (int64_t row = 0; row < rows; row += most) {
      const int64_t count = std::min(rows - row, most);
      char* const y_row = static_cast<char*>(y) + row * n * 2;
      check(cudaMemcpyAsync(aside, y_row, size_t(count * n * 2), cudaMemcpyDeviceToDevice, stream),
            "residual");
      run({Kind::kLinear, count, k, n, true, 0}, {w, static_cast<const char*>(x) + row * k * 2, aside, y_row},
          stream);
    }
  }

  cublasLtMatmulAlgo_t choose(const Key& key, const Plan& plan, const Operands& o, cudaStream_t stream) {
    auto found = plan.candidates(handle, key.alignment, false);
    if (found.empty())
      throw WorldError("cuBLASLt knows no algorithm that sums in order for {} rows, k {}, n {} ({})",
                       key.rows, key.k, key.n, key.kind == Kind::kLinear ? "linear" : "gradient");
    const bool timed = key.rows <= kTimedRows && key.kind != Kind::kWeightGradient &&
                       seconds_spent < kTimingSeconds && !capturing(stream);
    if (!timed) return found.front();
    add_less_likely(key, plan, found);
    return fastest(plan, found, o, stream);
  }

  // Where the library would split a long sum its other proposals for few rows are poor. Better ones are those
  // that it splits, whole, and those that it has for more rows.
  void add_less_likely(const Key& key, const Plan& plan, std::vector<cublasLtMatmulAlgo_t>& found) const {
    const auto add = [&](const std::vector<cublasLtMatmulAlgo_t>& more) {
      for (const auto& candidate : more)
        if (plan.takes(handle, candidate)) found.push_back(candidate);
    };
    add(plan.candidates(handle, key.alignment, true));
    for (Key larger = key; larger.rows < 4 * key.rows && larger.rows < kTimedRows;) {
      larger.rows *= 2;
      add(Plan(larger).candidates(handle, key.alignment, false));
    }
  }

  cublasLtMatmulAlgo_t fastest(const Plan& plan, const std::vector<cublasLtMatmulAlgo_t>& found,
                               const Operands& o, cudaStream_t stream) {
    const auto started = std::chrono::steady_clock::now();
    std::pair<float, size_t> best{INFINITY, 0};
    for (size_t i = 0; i < found.size(); ++i)
      best = std::min(best, {milliseconds(plan, found[i], o, best.first, stream), i});
    seconds_spent += std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return found[best.second];
  }

  // The least of some repetitions, the weights out of the cache as they are when layers take turns. The first
  // one loads the kernel; what is far from the best is not tried again.
  float milliseconds(const Plan& plan, const cublasLtMatmulAlgo_t& algorithm, const Operands& o, float best,
                     cudaStream_t stream) {
    float least = INFINITY;
    for (int i = 0; i <= kRepetitions; ++i) {
      check(cudaMemsetAsync(workspace, 0, kWorkspaceBytes, stream), "workspace of products");
      check(cudaEventRecord(begin.get(), stream), "cudaEventRecord");
      if (plan.run(handle, o, algorithm, workspace, stream) != CUBLAS_STATUS_SUCCESS) return INFINITY;
      check(cudaEventRecord(end.get(), stream), "cudaEventRecord");
      check(cudaEventSynchronize(end.get()), "product");
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin.get(), end.get()), "cudaEventElapsedTime");
      if (i > 0) least = std::min(least, ms);
      if (i > 0 && least > 2 * best) break;
    }
    return least;
  }

  cublasLtHandle_t handle = nullptr;
  void* workspace = nullptr;
  std::map<Key, std::unique_ptr<Plan>> plans;
  Event begin, end;
  double seconds_spent = 0;
};

Products::Products() : impl_(std::make_unique<Impl>()) {}
Products::~Products() = default;

void Products::linear(const void* x, const void* w, const void* residual, int64_t rows, int64_t k, int64_t n,
                      void* y, cudaStream_t stream) {
  if (rows == 0) return;
  if (residual && residual == y) return impl_->add_in_place(x, w, rows, k, n, y, stream);
  impl_->run({Kind::kLinear, rows, k, n, residual != nullptr, 0}, {w, x, residual, y}, stream);
}

void Products::linear_backward_input(const void* dy, const void* w, int64_t rows, int64_t k, int64_t n,
                                     void* dx, cudaStream_t stream) {
  if (rows == 0) return;
  impl_->run({Kind::kInputGradient, rows, k, n, false, 0}, {w, dy, nullptr, dx}, stream);
}

void Products::linear_backward_weight(const void* dy, const void* x, int64_t rows, int64_t k, int64_t n,
                                      float* dw, cudaStream_t stream) {
  if (rows == 0) return;
  impl_->run({Kind::kWeightGradient, rows, k, n, true, 0}, {x, dy, dw, dw}, stream);
}

int64_t Products::library_version() { return int64_t(cublasLtGetVersion()); }

}  // namespace temper::cuda
