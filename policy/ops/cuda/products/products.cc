#include "policy/ops/cuda/products/products.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <vector>

#include "base/error.h"
#include "policy/ops/cuda/ops.h"
#include "policy/ops/cuda/products/product_timer.h"
#include "policy/ops/round_up.h"

namespace temper::policy::cuda {
namespace {

constexpr size_t kResidualBytes = size_t(32)
                                  << 20;  // residuals that are copied at a time, if the output replaces them
constexpr double kTimingSeconds =
    4;  // for timing all shapes of decoding; after that the library's choice is taken
constexpr double kLargeFlops = 4e11;  // 0.6 ms

int common_alignment(const ProductOperands& o) {
  uintptr_t bits = 256;
  for (const void* p : {o.a, o.b, o.c, o.bias, static_cast<const void*>(o.d)})
    bits |= reinterpret_cast<uintptr_t>(p);
  return int(bits & -bits);
}

// Rounds rows up, four steps an octave. Packs have new numbers of rows all the time, and asking for
// algorithms takes longer than a small product: what suits one number suits its neighbours.
ProductKey largest_neighbour(ProductKey key) {
  key.rows = round_up(key.rows, int64_t(1) << std::max(0, int(std::bit_width(uint64_t(key.rows - 1))) - 3));
  return key;
}

bool capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

// Large products run at the limit of power, where the clock follows what the kernels draw. There the
// library's first choices, of the fewest cycles, are not the fastest: smaller tiles that draw less make a
// training step 1.2 % faster. Timed one by one they do not show it. Measured on an H200 with version 13.1;
// others that have no such tiles keep their first choice.
size_t preference(const ProductKey& key, const cublasLtMatmulAlgo_t& algorithm) {
  using Tiles = std::vector<uint32_t>;
  static const Tiles of_linear = {CUBLASLT_MATMUL_TILE_176x128, CUBLASLT_MATMUL_TILE_168x128,
                                  CUBLASLT_MATMUL_TILE_256x128},
                     of_others = {CUBLASLT_MATMUL_TILE_256x128, CUBLASLT_MATMUL_TILE_128x256};
  const Tiles& tiles = key.kind == ProductKind::kLinear && !key.add ? of_linear : of_others;
  return size_t(std::ranges::find(tiles, tile_of(algorithm)) - tiles.begin());
}

}  // namespace

struct Products::Impl {
  Impl() : handle(make_handle()), workspace(make_workspace()), timer(handle, workspace) {}
  ~Impl() {
    cudaFree(workspace);
    cublasLtDestroy(handle);
  }

  void run(ProductKey key, const ProductOperands& o, cudaStream_t stream) {
    key.alignment = common_alignment(o);
    auto at = plans.find(key);
    if (at == plans.end()) {
      auto made = std::make_unique<ProductPlan>(key);
      made->algorithm = choose(key, *made, o, stream);
      at = plans.emplace(key, std::move(made)).first;
    }
    const ProductPlan& plan = *at->second;
    if (const auto status = plan.run(handle, o, plan.algorithm, workspace, stream);
        status != CUBLAS_STATUS_SUCCESS)
      throw WorldError("cuBLASLt: product of {} rows, k {}, n {}: {}", key.rows, key.k, key.n,
                       cublasLtGetStatusString(status));
  }

  // In place, the library rounds the product before it adds: two roundings where there is one otherwise. So
  // the residual goes aside first, as many rows at a time as there is room for.
  void add_in_place(const void* x, const void* w, const void* bias, int64_t rows, int64_t k, int64_t n,
                    void* y, cudaStream_t stream) {
    const int64_t most = int64_t(kResidualBytes) / (n * 2) / 32 * 32;
    TEMPER_CHECK(most > 0, "residual of width {}", n);
    void* const aside = static_cast<char*>(workspace) + kProductWorkspaceBytes;
    for (int64_t row = 0; row < rows; row += most) {
      const int64_t count = std::min(rows - row, most);
      char* const y_row = static_cast<char*>(y) + row * n * 2;
      check(cudaMemcpyAsync(aside, y_row, size_t(count * n * 2), cudaMemcpyDeviceToDevice, stream),
            "residual");
      run({ProductKind::kLinear, count, k, n, true, bias != nullptr, 0},
          {w, static_cast<const char*>(x) + row * k * 2, aside, bias, y_row}, stream);
    }
  }

  cublasLtMatmulAlgo_t choose(const ProductKey& key, const ProductPlan& plan, const ProductOperands& o,
                              cudaStream_t stream) {
    if (key.rows <= kTimedRows && key.kind == ProductKind::kLinear) return for_decoding(key, plan, o, stream);
    for (const auto& likely : likeliest(largest_neighbour(key)))
      if (plan.takes(handle, likely)) return likely;
    return candidates(key, plan).front();
  }

  std::vector<cublasLtMatmulAlgo_t> candidates(const ProductKey& key, const ProductPlan& plan) const {
    auto found = plan.candidates(handle, key.alignment, false);
    if (found.empty())
      throw WorldError("cuBLASLt knows no algorithm that sums in order for {} rows, k {}, n {} ({})",
                       key.rows, key.k, key.n, key.kind == ProductKind::kLinear ? "linear" : "gradient");
    return found;
  }

  cublasLtMatmulAlgo_t for_decoding(const ProductKey& key, const ProductPlan& plan, const ProductOperands& o,
                                    cudaStream_t stream) {
    auto found = candidates(key, plan);
    if (seconds_spent >= kTimingSeconds || capturing(stream)) return found.front();
    add_less_likely(key, plan, found);
    const auto started = std::chrono::steady_clock::now();
    const auto fastest = timer.fastest(plan, found, o, stream);
    seconds_spent += std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return fastest;
  }

  const std::vector<cublasLtMatmulAlgo_t>& likeliest(const ProductKey& key) {
    auto at = algorithms.find(key);
    if (at != algorithms.end()) return at->second;
    auto found = ProductPlan(key).candidates(handle, key.alignment, false);
    if (flops(key) >= kLargeFlops)
      std::ranges::stable_sort(found, {}, [&](const auto& a) { return preference(key, a); });
    return algorithms[key] = std::move(found);
  }

  // Where the library would split a long sum its other proposals for few rows are poor. Better ones are those
  // that it splits, whole, and those that it has for more rows.
  void add_less_likely(const ProductKey& key, const ProductPlan& plan,
                       std::vector<cublasLtMatmulAlgo_t>& found) const {
    const auto add = [&](const std::vector<cublasLtMatmulAlgo_t>& more) {
      for (const auto& candidate : more)
        if (plan.takes(handle, candidate)) found.push_back(candidate);
    };
    add(plan.candidates(handle, key.alignment, true));
    for (ProductKey larger = key; larger.rows < 4 * key.rows && larger.rows < kTimedRows;) {
      larger.rows *= 2;
      add(ProductPlan(larger).candidates(handle, key.alignment, false));
    }
  }

  static cublasLtHandle_t make_handle() {
    cublasLtHandle_t made;
    check_lt(cublasLtCreate(&made), "cublasLtCreate");
    return made;
  }
  static void* make_workspace() {
    void* made;
    check(cudaMalloc(&made, kProductWorkspaceBytes + kResidualBytes), "workspace of products");
    return made;
  }

  const cublasLtHandle_t handle;
  void* const workspace;
  ProductTimer timer;
  std::map<ProductKey, std::unique_ptr<ProductPlan>> plans;
  std::map<ProductKey, std::vector<cublasLtMatmulAlgo_t>> algorithms;  // by the largest neighbour
  double seconds_spent = 0;
};

Products::Products() : impl_(std::make_unique<Impl>()) {}
Products::~Products() = default;

void Products::linear(const void* x, const void* w, const void* bias, const void* residual, int64_t rows,
                      int64_t k, int64_t n, void* y, cudaStream_t stream) {
  if (rows == 0) return;
  if (residual && residual == y) return impl_->add_in_place(x, w, bias, rows, k, n, y, stream);
  impl_->run({ProductKind::kLinear, rows, k, n, residual != nullptr, bias != nullptr, 0},
             {w, x, residual, bias, y}, stream);
}

void Products::linear_backward_input(const void* dy, const void* w, int64_t rows, int64_t k, int64_t n,
                                     void* dx, cudaStream_t stream) {
  if (rows == 0) return;
  impl_->run({ProductKind::kInputGradient, rows, k, n, false, false, 0}, {w, dy, nullptr, nullptr, dx},
             stream);
}

void Products::linear_backward_weight(const void* dy, const void* x, int64_t rows, int64_t k, int64_t n,
                                      bool add, float* dw, cudaStream_t stream) {
  if (rows == 0 && !add)
    check(cudaMemsetAsync(dw, 0, size_t(n * k) * sizeof(float), stream), "gradient of no rows");
  if (rows == 0) return;
  impl_->run({ProductKind::kWeightGradient, rows, k, n, true, false, 0}, {x, dy, dw, nullptr, dw, !add},
             stream);
}

int64_t Products::library_version() { return int64_t(cublasLtGetVersion()); }

}  // namespace temper::policy::cuda
