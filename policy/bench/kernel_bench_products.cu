#include <memory>
#include <utility>

#include "policy/bench/kernel_bench_case.h"
#include "policy/ops/cuda/attention/attention.h"
#include "policy/ops/cuda/attention/paged_attention.h"
#include "policy/ops/cuda/products/products.h"

namespace temper::policy {
namespace {

using namespace cuda;

struct Weight {
  const char* name;
  int64_t k, n;
  bool residual;
};

Bench decode_product(const std::shared_ptr<Products>& products, const Weight& w, int64_t rows) {
  const int64_t x = rows * w.k * 2, y = rows * w.n * 2, weights = w.k * w.n * 2;
  return {std::string(w.name) + ", " + std::to_string(rows) + " rows",
          weights + x + y * (w.residual ? 2 : 1),
          {weights, x, y, y},
          [=](void* const* b, cudaStream_t s) {
            products->linear(b[1], b[0], nullptr, w.residual ? b[2] : nullptr, rows, w.k, w.n, b[3], s);
          }};
}

std::vector<Bench> training_products(const std::shared_ptr<Products>& products, const Weight& w,
                                     int64_t rows) {
  const int64_t x = rows * w.k * 2, y = rows * w.n * 2, weights = w.k * w.n * 2, bytes = x + y + weights;
  const double operations = 2.0 * double(rows) * double(w.k) * double(w.n);
  const std::string name = w.name;
  return {{name,
           bytes,
           {x, weights, y},
           [=](void* const* b, cudaStream_t s) {
             products->linear(b[0], b[1], nullptr, nullptr, rows, w.k, w.n, b[2], s);
           },
           -1,
           operations},
          {name + ", dx",
           bytes,
           {x, weights, y},
           [=](void* const* b, cudaStream_t s) {
             products->linear_backward_input(b[2], b[1], rows, w.k, w.n, b[0], s);
           },
           -1,
           operations},
          {name + ", dw",
           x + y + 4 * weights,
           {x, 2 * weights, y},
           [=](void* const* b, cudaStream_t s) {
             products->linear_backward_weight(b[2], b[0], rows, w.k, w.n, true, as<float>(b[1]), s);
           },
           -1,
           operations}};
}

// Half of a square of scores for each of two sequences; a product of twice two operations, and five in the
// backward.
std::vector<Bench> packed_benches(const AttentionShape& shape, int64_t rows) {
  const auto attention = std::make_shared<PackedAttention>(shape);
  attention->set_pack({0, int32_t(rows / 2), int32_t(rows)}, nullptr);
  const int64_t qk = rows * shape.qk_width() * 2, qkv = rows * shape.qkv_width() * 2;
  const int64_t out = rows * shape.q_width() * 2, lse = rows * shape.heads * 4;
  const double operations = double(shape.q_width()) * double(rows) * double(rows);
  const auto forward = [=](void* const* b, cudaStream_t s) {
    attention->forward(b[0], b[1], b[2], as<float>(b[3]), s);
  };
  return {{"packed_attention", qkv + out + lse, {qk, qkv, out, lse}, forward, -1, operations},
          {"packed_attention, both ways",
           3 * qkv + 4 * out + 2 * lse,
           {qk, qkv, out, lse, out, qkv},
           [=](void* const* b, cudaStream_t s) {
             forward(b, s);
             attention->backward(b[4], b[0], b[1], b[2], as<float>(b[3]), b[5], s);
           },
           -1,
           3.5 * operations}};
}

// One token of each of `batch` sequences; pages in an order that no cache foresees.
Bench paged_bench(const AttentionShape& shape, int64_t batch, int64_t length) {
  const int64_t max_pages = (length + kPageTokens - 1) / kPageTokens, pages = batch * max_pages;
  const auto table =
      std::make_shared<Memory>(filled<int32_t>(pages, [&](int64_t i) { return i * 12347 % pages; }));
  const auto positions =
      std::make_shared<Memory>(filled<int32_t>(batch, [&](int64_t) { return length - 1; }));
  const int64_t tokens = batch * length * shape.kv_heads * 512;
  const int64_t qk = batch * shape.qk_width() * 2, out = batch * shape.q_width() * 2;
  return {"paged, " + std::to_string(batch) + " x " + std::to_string(length),
          tokens + batch * shape.q_width() * 2 + out,
          {pages * shape.kv_heads * kPageTokens * 512, qk, out},
          [=](void* const* b, cudaStream_t s) {
            paged_attention(shape, b[1], as<int32_t>(positions->data()), batch,
                            {b[0], as<int32_t>(table->data()), nullptr, max_pages}, b[2], s);
          }};
}

}  // namespace

std::vector<Bench> product_benches(int64_t rows, int64_t width, int64_t vocab) {
  const AttentionShape heads = bench_heads(width);
  const Weight weights[] = {{"qkv", width, heads.qkv_width(), false},
                            {"o", heads.q_width(), width, true},
                            {"gate_up", width, 6 * width, false},
                            {"down", 3 * width, width, true},
                            {"head", width, vocab, false}};
  const auto products = std::make_shared<Products>();
  std::vector<Bench> benches;
  for (const int64_t few : {32, 64, 128, 256})
    for (const Weight& w : weights) benches.push_back(decode_product(products, w, few));
  for (const Weight& w : weights)
    if (w.n != vocab)
      for (Bench& b : training_products(products, w, rows)) benches.push_back(std::move(b));
  return benches;
}

std::vector<Bench> attention_benches(int64_t rows, int64_t width) {
  const AttentionShape shape = bench_heads(width);
  std::vector<Bench> benches = packed_benches(shape, std::max<int64_t>(rows, 2));
  for (const auto& [batch, length] : {std::pair<int64_t, int64_t>{64, 576}, {64, 4096}, {256, 576}})
    benches.push_back(paged_bench(shape, batch, length));
  return benches;
}

}  // namespace temper::policy
