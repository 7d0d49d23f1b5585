#include "policy/ops/cuda/exactness.h"

#include <fmt/format.h>

#include <algorithm>

#include "policy/ops/cuda/attention/copied_keys.h"
#include "policy/ops/cuda/attention/paged_attention.h"
#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {
namespace {

constexpr int64_t kRows = 1024;
constexpr int64_t kFewRows[] = {32, 96};
// Around the borders of pages and of the library's tiles.
constexpr int32_t kLengths[] = {1, 127, 128, 129, 300};

// Device memory of `size` numbers, for as long as it lives.
template <class T>
class Array {
 public:
  explicit Array(int64_t size) : size_(size) {
    check(cudaMalloc(&data_, size_t(size) * sizeof(T)), "memory of the check of exactness");
  }
  ~Array() { cudaFree(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  T* data() const { return static_cast<T*>(data_); }
  int64_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  int64_t size_;
};

using Numbers = Array<uint16_t>;  // bf16

// Random numbers of this check, each array with a key of its own.
class Check {
 public:
  explicit Check(cudaStream_t stream) : stream_(stream), unequal_(1) {}

  void fill(const Numbers& x, double std) {
    fill_normal(DType::kBF16, x.data(), x.size(), ++key_, std, stream_);
  }

  template <class T>
  void upload(const Array<T>& to, const std::vector<T>& from) const {
    check(cudaMemcpyAsync(to.data(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice, stream_),
          "upload");
  }

  void compare(const uint16_t* a, const uint16_t* b, int64_t size, const std::string& what) {
    check(cudaMemsetAsync(unequal_.data(), 0, sizeof(uint32_t), stream_), "cudaMemsetAsync");
    count_unequal(a, b, size, unequal_.data(), stream_);
    uint32_t count = 0;
    check(cudaMemcpyAsync(&count, unequal_.data(), sizeof count, cudaMemcpyDeviceToHost, stream_),
          what.c_str());
    check(cudaStreamSynchronize(stream_), what.c_str());
    if (count > 0) complaints_ += fmt::format("; {}: {} of {} numbers unequal", what, count, size);
  }

  Exactness result(size_t products) const {
    const auto libraries =
        fmt::format("cuBLASLt {}, cuDNN {}", Products::library_version(), PackedAttention::library_version());
    if (!complaints_.empty()) return {false, libraries + complaints_};
    return {true, fmt::format("{}: {} products and attention have the same bits in rollout and training",
                              libraries, products)};
  }

  cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_;
  Array<uint32_t> unequal_;
  uint64_t key_ = 0;
  std::string complaints_;
};

void check_product(const ProductShape& s, Products& products, Check& all) {
  const Numbers x(kRows * s.k), residual(kRows * s.n), many(kRows * s.n), few(kRows * s.n);
  const Numbers own(s.w ? 0 : s.k * s.n);
  all.fill(x, 1);
  all.fill(residual, 1);
  if (!s.w) all.fill(own, 0.02);
  const auto run = [&](int64_t from, int64_t rows, const Numbers& y) {
    products.linear(x.data() + from * s.k, s.w ? s.w : own.data(), s.bias,
                    s.residual ? residual.data() + from * s.n : nullptr, rows, s.k, s.n, y.data(),
                    all.stream());
  };
  run(0, kRows, many);
  for (const int64_t rows : kFewRows)
    for (const int64_t from : {int64_t(0), kRows - rows}) {
      run(from, rows, few);
      all.compare(few.data(), many.data() + from * s.n, rows * s.n,
                  fmt::format("cuBLASLt, product of {} rows, k {}, n {}", rows, s.k, s.n));
    }
}

struct Pack {
  std::vector<int32_t> starts{0}, positions, rows, table;
  // The same rows, but the last sequence is cut in three, each of which continues the one before it.
  std::vector<int32_t> cut_starts, prefixes;
  int32_t max_pages = 0, pages = 0;
  Pack() {
    max_pages = (std::ranges::max(kLengths) + kPageTokens - 1) / kPageTokens;
    for (const int32_t length : kLengths) {
      const auto sequence = int32_t(starts.size()) - 1;
      for (int32_t i = 0; i < length; ++i) positions.push_back(i), rows.push_back(sequence);
      for (int32_t i = 0; i < max_pages; ++i) table.push_back(pages++);
      starts.push_back(starts.back() + length);
    }
    cut_starts = starts;
    cut_starts.insert(cut_starts.end() - 1, {cut_starts.end()[-2] + 100, cut_starts.end()[-2] + 129});
    prefixes.assign(std::size(kLengths), 0);
    prefixes.insert(prefixes.end(), {100, 129});
  }
};

// The pack's rows behind shared keys, against those of whole sequences.
void check_shared_keys(const AttentionShape& shape, const Pack& pack, const Numbers& qk, const Numbers& qkv,
                       const Numbers& packed, PackedAttention& attention, Check& all) {
  const SharedKeys shared = shared_keys(pack.cut_starts, pack.prefixes);
  const auto copies = int64_t(shared.rows.size());
  const Array<int32_t> key_rows(copies);
  const Numbers keys(copies * shape.kv_width()), behind(packed.size());
  all.upload(key_rows, shared.rows);
  copy_keys(shape, qk.data(), qkv.data(), key_rows.data(), copies, keys.data(), all.stream());
  attention.set_pack(pack.cut_starts, all.stream(), shared);
  attention.forward(qk.data(), qkv.data(), behind.data(), nullptr, all.stream(), keys.data());
  all.compare(
      behind.data(), packed.data(), packed.size(),
      fmt::format("cuDNN, attention of {} heads on {} behind shared keys", shape.heads, shape.kv_heads));
}

void check_attention(const AttentionShape& shape, bool shares_keys, PackedAttention& attention, Check& all) {
  const Pack pack;
  const int64_t tokens = pack.starts.back();
  const Numbers qk(tokens * shape.qk_width()), qkv(tokens * shape.qkv_width());
  const Numbers packed(tokens * shape.q_width()), paged(tokens * shape.q_width());
  const Numbers memory(pack.pages * shape.kv_heads * 2 * kPageTokens * shape.head_dim);
  const Array<int32_t> positions(tokens), rows(tokens), table(int64_t(pack.table.size()));
  all.fill(qk, 1);
  all.fill(qkv, 1);
  all.upload(positions, pack.positions);
  all.upload(rows, pack.rows);
  all.upload(table, pack.table);
  const Pages pages{memory.data(), table.data(), rows.data(), pack.max_pages};
  attention.set_pack(pack.starts, all.stream());
  attention.forward(qk.data(), qkv.data(), packed.data(), nullptr, all.stream());
  write_pages(shape, qk.data(), qkv.data(), positions.data(), tokens, pages, all.stream());
  paged_attention(shape, qk.data(), positions.data(), tokens, pages, paged.data(), all.stream());
  all.compare(paged.data(), packed.data(), packed.size(),
              fmt::format("cuDNN, packed attention of {} heads on {}", shape.heads, shape.kv_heads));
  if (shares_keys) check_shared_keys(shape, pack, qk, qkv, packed, attention, all);
}

}  // namespace

Exactness check_exactness(const AttentionShape& heads, const std::vector<ProductShape>& shapes,
                          bool shares_keys, Products& products, PackedAttention& attention,
                          cudaStream_t stream) {
  Check all(stream);
  for (const ProductShape& shape : shapes) check_product(shape, products, all);
  check_attention(heads, shares_keys, attention, all);
  return all.result(shapes.size());
}

}  // namespace temper::policy::cuda
