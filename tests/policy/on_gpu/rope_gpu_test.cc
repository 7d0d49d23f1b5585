// CUDA qk_norm_rope and its backward against the CPU's, and where its pages put keys and values.

#include <numeric>

#include "policy/ops/cpu/parallel.h"
#include "policy/ops/cpu/rope.h"
#include "tests/policy/on_gpu/gpu_test.h"

namespace temper::policy {
namespace {

constexpr int64_t kPositions = 300;
constexpr double kRmsEps = 1e-6;
const AttentionShape kShapes[] = {{1, 1, 32},   {5, 3, 32},   {4, 2, 64}, {6, 2, 128},
                                  {32, 8, 128}, {40, 8, 128}, {9, 3, 64}, {14, 2, 64}};

std::vector<double> frequencies(int64_t head_dim) { return rope_frequencies({.head_dim = head_dim}); }

at::Tensor rope_table(int64_t head_dim) {
  const at::Tensor table = at::empty({kPositions, 2, head_dim / 2});
  cuda::fill_rope_table(kPositions, frequencies(head_dim), table.data_ptr<float>());
  return table;
}

// A call's inputs.
struct Case {
  AttentionShape shape;
  at::Tensor qkv, positions, q_weight, k_weight;
  int64_t rows() const { return qkv.size(0); }
  Case row(int64_t r) const {
    return {shape, qkv.narrow(0, r, 1), positions.narrow(0, r, 1), q_weight, k_weight};
  }
};

at::Tensor forward(DType dtype, const Case& c, const cuda::Pages& pages = {}) {
  const DeviceArray table(rope_table(c.shape.head_dim)), qkv(c.qkv), positions(c.positions), q(c.q_weight),
      k(c.k_weight), qk(at::full({c.rows(), c.shape.qk_width()}, -7, c.qkv.scalar_type()));
  cuda::qk_norm_rope(dtype, c.shape, q.data(), k.data(), kRmsEps, table.f32(), qkv.data(), positions.i32(),
                     c.rows(), pages, qk.data(), nullptr);
  return qk.host();
}

struct Gradients {
  at::Tensor d_qkv, dw_blocks;
};

Gradients backward(DType dtype, const Case& c, const at::Tensor& d_qkv) {
  const DeviceArray table(rope_table(c.shape.head_dim)), qkv(c.qkv), positions(c.positions), q(c.q_weight),
      k(c.k_weight), d(d_qkv), dw(at::full({cuda::kNormBlocks, 2 * c.shape.head_dim}, -7.f));
  cuda::qk_norm_rope_backward(dtype, c.shape, q.data(), k.data(), kRmsEps, table.f32(), qkv.data(),
                              positions.i32(), c.rows(), d.data(), dw.f32(), nullptr);
  return {d.host(), dw.host()};
}

class GpuRope : public GpuOps {
 protected:
  Case make(const AttentionShape& shape, int64_t rows) const {
    return {shape, random({rows, shape.qkv_width()}, 3), at::randint(kPositions, {rows}, at::kInt),
            random({shape.head_dim}), random({shape.head_dim})};
  }
};

// The CPU's, in double precision but with the table's f32 angles.
struct Twin {
  explicit Twin(const Case& c)
      : shape(c.shape),
        qkv(doubles(c.qkv)),
        q(doubles(c.q_weight)),
        k(doubles(c.k_weight)),
        norm{data(q), data(k), kRmsEps},
        table(kPositions, frequencies(c.shape.head_dim)),
        positions(c.positions.const_data_ptr<int32_t>()),
        rows(c.rows()),
        qk(doubles(at::empty({rows, shape.qk_width()}))),
        rstd(doubles(at::empty({rows, shape.heads + shape.kv_heads, 1}))) {
    for (auto* angles : {&table.cos, &table.sin})
      for (double& x : *angles) x = double(float(x));
    cpu::qk_norm_rope(shape, norm, table, data(qkv), positions, rows, data(qk), data(rstd));
  }
  // [rows, heads, hd] of the query and key columns.
  at::Tensor by_head(const at::Tensor& x) const {
    return x.narrow(1, 0, shape.qk_width()).reshape({rows, -1, shape.head_dim});
  }
  at::Tensor largest_weight() const { return at::maximum(q.abs().max(), k.abs().max()); }

  AttentionShape shape;
  at::Tensor qkv, q, k;
  cpu::QkNorm<double> norm;
  cpu::RopeTable<double> table;
  const int32_t* positions;
  int64_t rows;
  at::Tensor qk, rstd;
};

TEST_P(GpuRope, TableEqualsItsTwin) {
  const cpu::RopeTable<float> twin(kPositions, frequencies(64));
  const at::Tensor table = rope_table(64);
  for (int64_t p = 0; p < kPositions; ++p)
    for (int64_t i = 0; i < 32; ++i) {
      ASSERT_EQ(table[p][0][i].item<float>(), twin.cos[size_t(p * 32 + i)]);
      ASSERT_EQ(table[p][1][i].item<float>(), twin.sin[size_t(p * 32 + i)]);
    }
}

// Needs no GPU.
TEST(RopeTable, OfScaledFrequenciesEqualsItsTwin) {
  ModelConfig config{.head_dim = 128, .rope_theta = 5e5};
  const double slowest = rope_frequencies(config).back();
  for (const RopeKind kind : {RopeKind::kNone, RopeKind::kLinear, RopeKind::kLlama3}) {
    config.rope = {.kind = kind, .factor = 8};
    const std::vector<double> scaled = rope_frequencies(config);
    EXPECT_DOUBLE_EQ(scaled.back(), kind == RopeKind::kNone ? slowest : slowest / 8);
    EXPECT_EQ(scaled.front(), kind == RopeKind::kLinear ? 1.0 / 8 : 1.0);
    const cpu::RopeTable<float> twin(kPositions, scaled);
    std::vector<float> table(size_t(kPositions * 128));
    cuda::fill_rope_table(kPositions, scaled, table.data());
    for (int64_t p = 0; p < kPositions; ++p)
      for (int64_t i = 0; i < 64; ++i) {
        ASSERT_EQ(table[size_t(p * 128 + i)], twin.cos[size_t(p * 64 + i)]);
        ASSERT_EQ(table[size_t(p * 128 + 64 + i)], twin.sin[size_t(p * 64 + i)]);
      }
  }
}

// A call without weights, and its twin in double precision with the table's f32 angles.
struct Turned {
  Turned(DType dtype, const Case& c, const at::Tensor& d_qkv)
      : shape(c.shape),
        expected(at::empty({c.rows(), shape.qk_width()}, at::kDouble)),
        expected_d(doubles(d_qkv).clone()) {
    const DeviceArray angles(rope_table(shape.head_dim)), qkv(c.qkv), positions(c.positions), d(d_qkv),
        qk(at::full({c.rows(), shape.qk_width()}, -7, c.qkv.scalar_type())),
        dw(at::full({cuda::kNormBlocks, 2 * shape.head_dim}, -7.f));
    cuda::qk_norm_rope(dtype, shape, nullptr, nullptr, kRmsEps, angles.f32(), qkv.data(), positions.i32(),
                       c.rows(), {}, qk.data(), nullptr);
    cuda::qk_norm_rope_backward(dtype, shape, nullptr, nullptr, kRmsEps, angles.f32(), qkv.data(),
                                positions.i32(), c.rows(), d.data(), dw.f32(), nullptr);
    found = qk.host(), found_d = d.host(), found_dw = dw.host();
    twin(c, d_qkv);
  }
  void twin(const Case& c, const at::Tensor& d_qkv) {
    cpu::RopeTable<double> table(kPositions, frequencies(shape.head_dim));
    for (auto* angles : {&table.cos, &table.sin})
      for (double& x : *angles) x = double(float(x));
    const cpu::QkNorm<double> none{nullptr, nullptr, kRmsEps};
    const int32_t* positions = c.positions.const_data_ptr<int32_t>();
    const int64_t blocks = (c.rows() + cpu::kRowBlock - 1) / cpu::kRowBlock;
    const at::Tensor qkv = doubles(c.qkv), dw = doubles(at::empty({blocks, 2 * shape.head_dim}));
    const at::Tensor d_qk = doubles(d_qkv).narrow(1, 0, shape.qk_width()).contiguous();
    cpu::qk_norm_rope(shape, none, table, data(qkv), positions, c.rows(), data(expected),
                      static_cast<double*>(nullptr));
    cpu::qk_norm_rope_backward(shape, none, table, data(qkv), positions, static_cast<const double*>(nullptr),
                               c.rows(), data(d_qk), data(expected_d), data(dw));
  }
  // A number and the partner that it is turned with, together.
  at::Tensor pairs(const at::Tensor& x) const {
    const at::Tensor heads =
        doubles(x).narrow(1, 0, shape.qk_width()).reshape({x.size(0), -1, shape.head_dim});
    return (heads.square() + heads.roll(shape.head_dim / 2, -1).square()).sqrt().reshape({x.size(0), -1});
  }

  AttentionShape shape;
  at::Tensor found, found_d, found_dw, expected, expected_d;
};

TEST_P(GpuRope, TurnsWithoutNorms) {
  for (const AttentionShape& shape : {AttentionShape{5, 3, 32}, {4, 2, 64}, {28, 4, 128}, {32, 32, 128}})
    for (const int64_t rows : {1, 33, 2500}) {
      const Case c = make(shape, rows);
      const at::Tensor d_qkv = random({rows, shape.qkv_width()});
      const Turned t(GetParam(), c, d_qkv);
      const std::string what = fmt::format("{} rows of {}+2·{} heads", rows, shape.heads, shape.kv_heads);
      const int64_t qk = shape.qk_width(), v = shape.qkv_width() - qk;
      expect_close(t.found, t.expected, t.pairs(c.qkv), 8, what);
      expect_close(t.found_d.narrow(1, 0, qk), t.expected_d.narrow(1, 0, qk), t.pairs(d_qkv), 8,
                   "backward " + what);
      EXPECT_TRUE(at::equal(t.found_d.narrow(1, qk, v), d_qkv.narrow(1, qk, v)))
          << what << ": values changed";
      EXPECT_EQ(t.found_dw.abs().max().item<float>(), 0) << what;
    }
}

TEST_P(GpuRope, EqualsItsTwin) {
  for (const AttentionShape& shape : kShapes)
    for (const int64_t rows : {1, 3, 33, 129}) {
      const Case c = make(shape, rows);
      const Twin twin(c);
      const at::Tensor size = twin.by_head(twin.qk).abs().amax(-1, true).expand_as(twin.by_head(twin.qk));
      expect_close(
          forward(GetParam(), c), twin.qk, size.reshape_as(twin.qk), 32,
          fmt::format("{} rows of {}+2·{} heads of {}", rows, shape.heads, shape.kv_heads, shape.head_dim));
    }
}

TEST_P(GpuRope, BackwardEqualsItsTwin) {
  for (const AttentionShape& shape : kShapes)
    for (const int64_t rows : {1, 3, 33, 129, 2500}) {
      const Case c = make(shape, rows);
      const Twin twin(c);
      const at::Tensor d_qkv = random({rows, shape.qkv_width()}), d64 = doubles(d_qkv);
      const at::Tensor d_qk = d64.narrow(1, 0, shape.qk_width()).contiguous(), expected = d64.clone();
      const int64_t hd = shape.head_dim, blocks = (rows + cpu::kRowBlock - 1) / cpu::kRowBlock;
      const at::Tensor dw_blocks = doubles(at::empty({blocks, 2 * hd}));
      cpu::qk_norm_rope_backward(shape, twin.norm, twin.table, data(twin.qkv), twin.positions,
                                 data(twin.rstd), rows, data(d_qk), data(expected), data(dw_blocks));
      const Gradients g = backward(GetParam(), c, d_qkv);
      const std::string what =
          fmt::format("{} rows of {}+2·{} heads of {}", rows, shape.heads, shape.kv_heads, hd);
      const at::Tensor dy = twin.by_head(d64), norms = dy.norm(2, -1, true);
      const at::Tensor size = (twin.rstd * norms * twin.largest_weight()).expand_as(dy).reshape({rows, -1});
      expect_close(g.d_qkv.narrow(1, 0, shape.qk_width()), expected.narrow(1, 0, shape.qk_width()), size, 32,
                   what);
      EXPECT_TRUE(at::equal(g.d_qkv.narrow(1, shape.qk_width(), shape.kv_heads * hd),
                            d_qkv.narrow(1, shape.qk_width(), shape.kv_heads * hd)))
          << what << ": values changed";
      // Rotated, a column is at most as large as it and its partner together.
      const at::Tensor pairs = (dy * dy + dy.roll(hd / 2, -1).square()).sqrt();
      const at::Tensor terms = (pairs * twin.by_head(twin.qkv) * twin.rstd).abs();
      const at::Tensor dw_size = at::cat({terms.narrow(1, 0, shape.heads).sum(0).sum(0),
                                          terms.narrow(1, shape.heads, shape.kv_heads).sum(0).sum(0)});
      expect_close(doubles(g.dw_blocks).sum(0), dw_blocks.sum(0), dw_size, 64, "dw " + what);
    }
}

TEST_P(GpuRope, ARowHasTheSameBitsAlone) {
  for (const AttentionShape& shape : kShapes) {
    const Case c = make(shape, 1000);
    const at::Tensor qk = forward(GetParam(), c), d_qkv = random({1000, shape.qkv_width()});
    const Gradients g = backward(GetParam(), c, d_qkv), again = backward(GetParam(), c, d_qkv);
    EXPECT_TRUE(same_bits(qk, forward(GetParam(), c)));
    EXPECT_TRUE(same_bits(g.d_qkv, again.d_qkv) && same_bits(g.dw_blocks, again.dw_blocks));
    for (const int64_t r : {0, 517, 999}) {
      EXPECT_TRUE(same_bits(forward(GetParam(), c.row(r)), qk.narrow(0, r, 1).contiguous()));
      EXPECT_TRUE(same_bits(backward(GetParam(), c.row(r), d_qkv.narrow(0, r, 1)).d_qkv,
                            g.d_qkv.narrow(0, r, 1).contiguous()));
    }
  }
}

// Number d of token t in a page of [kPageTokens, hd], as the layout says.
int64_t place_in_page(int64_t hd, int64_t t, int64_t d) { return t * hd + ((d / 8) ^ (t % 8)) * 8 + d % 8; }

constexpr int64_t kPagedRows = 3 * 250;  // tokens of three sequences

// Each row is a token of one of three sequences, their pages dealt in falling order.
void expect_keys_and_values_in_pages(Case c) {
  const AttentionShape& shape = c.shape;
  const int64_t hd = shape.head_dim;
  constexpr int64_t kMaxPages = 2, kPages = 6;
  std::vector<int32_t> table(kPages), row_of(kPagedRows), positions(kPagedRows);
  for (int64_t i = 0; i < kPages; ++i) table[size_t(i)] = int32_t(kPages - 1 - i);
  for (int64_t r = 0; r < kPagedRows; ++r)
    row_of[size_t(r)] = int32_t(r % 3), positions[size_t(r)] = int32_t(r / 3);
  c.positions = ints(positions);
  const DeviceArray base(at::full({kPages, shape.kv_heads, 2, cuda::kPageTokens * hd}, -1024, at::kBFloat16)),
      gtable(ints(table)), grow(ints(row_of));
  const at::Tensor qk = forward(DType::kBF16, c, {base.data(), gtable.i32(), grow.i32(), kMaxPages});
  EXPECT_TRUE(same_bits(qk, forward(DType::kBF16, c))) << "with pages and without";
  const at::Tensor pages = base.host();
  for (int64_t r = 0; r < kPagedRows; ++r)
    for (int64_t k = 0; k < shape.kv_heads; ++k)
      for (const int64_t is_value : {0, 1}) {
        const at::Tensor from = is_value ? c.qkv[r].narrow(0, shape.qk_width() + k * hd, hd)
                                         : qk[r].narrow(0, (shape.heads + k) * hd, hd);
        const int64_t position = r / 3,
                      page = table[size_t(r % 3 * kMaxPages + position / cuda::kPageTokens)];
        const at::BFloat16 *x = from.const_data_ptr<at::BFloat16>(),
                           *y = pages[page][k][is_value].const_data_ptr<at::BFloat16>();
        for (int64_t d = 0; d < hd; ++d)
          ASSERT_EQ(x[d], y[place_in_page(hd, position % cuda::kPageTokens, d)])
              << "row " << r << ", key head " << k << ", " << (is_value ? "value " : "key ") << d;
      }
  EXPECT_EQ((pages == -1024).sum().item<int64_t>(), 3 * 6 * 2 * shape.kv_heads * hd)
      << "more than the rows was written";
}

TEST_P(GpuRope, PagesHoldKeysAndValues) {
  if (GetParam() != DType::kBF16) GTEST_SKIP() << "pages are bf16";
  for (const AttentionShape& shape : {AttentionShape{6, 2, 128}, {9, 3, 64}})
    expect_keys_and_values_in_pages(make(shape, kPagedRows));
}

// A decode step: row r belongs to sequence r.
TEST_P(GpuRope, PagesWithoutRowsBelongToTheirRow) {
  if (GetParam() != DType::kBF16) GTEST_SKIP() << "pages are bf16";
  for (const int64_t hd : {64, 128}) {
    const AttentionShape shape = {32, 8, hd};
    const Case c = make(shape, 3);
    const DeviceArray base(at::zeros({9, shape.kv_heads, 2, cuda::kPageTokens * hd}, at::kBFloat16)),
        gtable(ints({8, 7, 6, 5, 4, 3, 2, 1, 0}));
    const at::Tensor qk = forward(GetParam(), c, {base.data(), gtable.i32(), nullptr, 3}),
                     pages = base.host();
    for (int64_t r = 0; r < 3; ++r) {
      const int64_t position = c.positions[r].item<int32_t>(),
                    page = 8 - (r * 3 + position / cuda::kPageTokens);
      for (int64_t d = 0; d < hd; ++d)
        ASSERT_EQ(pages[page][5][0][place_in_page(hd, position % cuda::kPageTokens, d)].item<float>(),
                  qk[r][(shape.heads + 5) * hd + d].item<float>());
    }
  }
}

TEMPER_BOTH_TYPES(GpuRope);

}  // namespace
}  // namespace temper::policy
