// Each op over odd sizes against the same formula written plainly in f64, in f32 and f64.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/rng.h"
#include "policy/model_config.h"
#include "policy/ops/cpu/attention.h"
#include "policy/ops/cpu/cached_attention.h"
#include "policy/ops/cpu/embedding.h"
#include "policy/ops/cpu/linear.h"
#include "policy/ops/cpu/lm_head.h"
#include "policy/ops/cpu/rms_norm.h"
#include "policy/ops/cpu/rope.h"
#include "policy/ops/cpu/row_linear.h"
#include "policy/ops/cpu/softmax_row.h"
#include "policy/ops/cpu/swiglu.h"
#include "policy/ops/cpu/vector_math.h"

namespace temper::policy::cpu {
namespace {

template <class T>
class Ops : public testing::Test {
 protected:
  static constexpr double kTolerance = std::is_same_v<T, float> ? 2e-5 : 1e-12;

  std::vector<T> random(int64_t n) {
    std::vector<T> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(T(rng_.normal()));
    return values;
  }
  Rng rng_{11};
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Ops, Types);

struct Size {
  int64_t rows, width;
};
const Size kSizes[] = {{1, 1}, {1, 7}, {3, 16}, {31, 17}, {33, 64}, {64, 33}, {100, 130}};

template <class T>
std::vector<T> packed(const std::vector<T>& w, int64_t in, int64_t out) {
  std::vector<T> panels(size_t(panels_size<T>(out, in)));
  pack_linears<T>(std::vector<LinearPanels<T>>{{w.data(), in, out, panels.data()}});
  return panels;
}

// More rows than one sum of the weight's gradient holds, widths beside whole vectors.
TYPED_TEST(Ops, LinearAndItsGradients) {
  for (const auto& [rows, in] :
       {Size{1, 1}, Size{1, 7}, Size{3, 16}, Size{33, 64}, Size{64, 33}, Size{500, 35}}) {
    const int64_t out = 2 * in + 1;
    const auto x = this->random(rows * in), w = this->random(out * in), start = this->random(rows * out);
    const auto panels = packed(w, in, out);
    for (bool accumulate : {false, true}) {
      auto y = start;
      linear(x.data(), panels.data(), rows, in, out, accumulate, y.data());
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t o = 0; o < out; ++o) {
          double sum = accumulate ? double(start[r * out + o]) : 0;
          for (int64_t i = 0; i < in; ++i) sum += double(x[r * in + i]) * double(w[o * in + i]);
          ASSERT_NEAR(y[r * out + o], sum, this->kTolerance * std::sqrt(double(in)));
        }
    }
    std::vector<TypeParam> dx(size_t(rows * in)), dw = w;
    linear_backward_input(start.data(), w.data(), rows, in, out, dx.data());
    linear_backward_weights<TypeParam>(
        std::vector<WeightGradient<TypeParam>>{{start.data(), x.data(), in, out, dw.data()}}, rows);
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (int64_t o = 0; o < out; ++o) sum += double(start[r * out + o]) * double(w[o * in + i]);
        ASSERT_NEAR(dx[r * in + i], sum, this->kTolerance * std::sqrt(double(out)));
      }
      for (int64_t o = 0; o < out; ++o) {
        double sum = double(w[o * in + i]);
        for (int64_t r = 0; r < rows; ++r) sum += double(start[r * out + o]) * double(x[r * in + i]);
        ASSERT_NEAR(dw[o * in + i], sum, this->kTolerance * std::sqrt(double(rows)));
      }
    }
  }
}

// What training computes of a token is what generation computed, to the bit.
TYPED_TEST(Ops, LinearEqualsRowLinear) {
  for (const auto& [rows, in] : kSizes) {
    const int64_t out = 2 * in + 1;
    const auto x = this->random(rows * in), w = this->random(out * in), start = this->random(rows * out);
    const auto panels = packed(w, in, out);
    for (bool accumulate : {false, true}) {
      auto trained = start, generated = start;
      linear(x.data(), panels.data(), rows, in, out, accumulate, trained.data());
      row_linear(x.data(), w.data(), rows, in, out, accumulate, generated.data());
      ASSERT_EQ(trained, generated) << rows << " x " << in;
    }
  }
}

// The promise behind "alone = in a batch".
TYPED_TEST(Ops, RowLinearGivesTheSameBitsInAnyBatch) {
  for (const auto& [out, in] : {Size{256, 128}, Size{97, 384}, Size{33, 1000}}) {
    const int64_t most = 200;
    const auto x = this->random(most * in), w = this->random(out * in);
    std::vector<TypeParam> all(size_t(most * out)), some(all.size());
    row_linear(x.data(), w.data(), most, in, out, false, all.data());
    for (int64_t rows : {1, 2, 7, 8, 15, 16, 17, 33, 63, 64, 65, 130}) {
      const int64_t first = most - rows;  // other lanes, other tiles
      row_linear(x.data() + first * in, w.data(), rows, in, out, false, some.data());
      ASSERT_TRUE(std::equal(some.begin(), some.begin() + rows * out, all.begin() + first * out)) << rows;
    }
  }
}

TYPED_TEST(Ops, RmsNorm) {
  for (const auto& [rows, width] : kSizes) {
    const auto x = this->random(rows * width), w = this->random(width);
    std::vector<TypeParam> y(x.size()), rstd(size_t(rows), TypeParam(0));
    rms_norm(x.data(), w.data(), 1e-3, rows, width, y.data(), rstd.data());
    for (int64_t r = 0; r < rows; ++r) {
      double squares = 0;
      for (int64_t i = 0; i < width; ++i) squares += std::pow(double(x[r * width + i]), 2);
      const double expected = 1 / std::sqrt(squares / double(width) + 1e-3);
      ASSERT_NEAR(rstd[r], expected, this->kTolerance * expected);
      for (int64_t i = 0; i < width; ++i)
        ASSERT_NEAR(y[r * width + i], double(x[r * width + i]) * expected * double(w[i]),
                    this->kTolerance * 10);
    }
  }
}

TYPED_TEST(Ops, Swiglu) {
  for (const auto& [rows, width] : kSizes) {
    const auto gate_up = this->random(rows * 2 * width), dy = this->random(rows * width);
    std::vector<TypeParam> y(dy.size()), d(gate_up.size());
    swiglu(gate_up.data(), rows, width, y.data());
    swiglu_backward(dy.data(), gate_up.data(), rows, width, d.data());
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < width; ++i) {
        const double g = gate_up[r * 2 * width + i], u = gate_up[r * 2 * width + width + i],
                     up = dy[r * width + i];
        const double s = 1 / (1 + std::exp(-g));
        ASSERT_NEAR(y[r * width + i], g * s * u, this->kTolerance);
        ASSERT_NEAR(d[r * 2 * width + i], up * u * s * (1 + g * (1 - s)), this->kTolerance);
        ASSERT_NEAR(d[r * 2 * width + width + i], up * g * s, this->kTolerance);
      }
  }
}

TYPED_TEST(Ops, EmbeddingAddsUpRepeatedIds) {
  const std::vector<int32_t> ids = {4, 0, 4, 4, 2};
  const auto table = this->random(5 * 3);
  std::vector<TypeParam> y(15), d(15, TypeParam(1));
  embedding(table.data(), ids.data(), 5, 3, y.data());
  embedding_backward(y.data(), ids.data(), 5, 3, d.data());
  const double times[] = {1, 0, 1, 0, 3};
  for (int64_t id = 0; id < 5; ++id)
    for (int64_t i = 0; i < 3; ++i)
      EXPECT_NEAR(d[id * 3 + i], 1 + times[id] * double(table[id * 3 + i]), this->kTolerance);
}

TYPED_TEST(Ops, RopeTurnsByPositionAfterTheNorm) {
  const AttentionShape shape{3, 1, 6};
  const RopeTable<TypeParam> table(50, rope_frequencies({.head_dim = 6, .rope_theta = 100}));
  const auto qkv = this->random(2 * 30), qw = this->random(6), kw = this->random(6);
  const std::vector<int32_t> positions = {0, 41};
  std::vector<TypeParam> qk(2 * 24), rstd(2 * 4);
  qk_norm_rope(shape, {qw.data(), kw.data(), 1e-6}, table, qkv.data(), positions.data(), 2, qk.data(),
               rstd.data());
  for (int64_t r = 0; r < 2; ++r)
    for (int64_t h = 0; h < 4; ++h) {
      const TypeParam* x = &qkv[r * 30 + h * 6];
      double squares = 0, normed[6];
      for (int64_t i = 0; i < 6; ++i) squares += double(x[i]) * double(x[i]);
      for (int64_t i = 0; i < 6; ++i)
        normed[i] = double(x[i]) / std::sqrt(squares / 6 + 1e-6) * double((h < 3 ? qw : kw)[i]);
      for (int64_t i = 0; i < 3; ++i) {
        const double angle = positions[r] * std::pow(100.0, -double(i) / 3);
        const double c = std::cos(angle), s = std::sin(angle);
        EXPECT_NEAR(qk[r * 24 + h * 6 + i], normed[i] * c - normed[i + 3] * s, this->kTolerance);
        EXPECT_NEAR(qk[r * 24 + h * 6 + i + 3], normed[i + 3] * c + normed[i] * s, this->kTolerance);
      }
    }
}

// One row of causal attention, written out.
template <class T>
std::vector<double> attend(const AttentionShape& s, const T* qk, const T* qkv, int64_t start, int64_t row,
                           int64_t head) {
  const int64_t kv = head / s.group();
  std::vector<double> p, out(size_t(s.head_dim), 0.0);
  double sum = 0;
  for (int64_t j = start; j <= row; ++j) {
    double dot = 0;
    for (int64_t d = 0; d < s.head_dim; ++d)
      dot += double(qk[row * s.qk_width() + head * s.head_dim + d]) *
             double(qk[j * s.qk_width() + s.q_width() + kv * s.head_dim + d]);
    sum += p.emplace_back(std::exp(dot / std::sqrt(double(s.head_dim))));
  }
  for (int64_t j = start; j <= row; ++j)
    for (int64_t d = 0; d < s.head_dim; ++d)
      out[size_t(d)] +=
          p[size_t(j - start)] / sum * double(qkv[j * s.qkv_width() + s.qk_width() + kv * s.head_dim + d]);
  return out;
}

const AttentionShape kShapes[] = {{1, 1, 2}, {4, 2, 6}, {3, 1, 40}, {4, 4, 32}, {7, 1, 16}};

TYPED_TEST(Ops, AttentionOverPackedSequences) {
  const std::vector<int32_t> starts = {0, 1, 66, 69, 200};
  for (const AttentionShape& shape : kShapes) {
    const auto qk = this->random(200 * shape.qk_width()), qkv = this->random(200 * shape.qkv_width());
    std::vector<TypeParam> out(size_t(200 * shape.q_width())), lse(size_t(200 * shape.heads));
    attention(shape, qk.data(), qkv.data(), starts.data(), 4, out.data(), lse.data());
    for (size_t s = 0; s < 4; ++s)
      for (int64_t t = starts[s]; t < starts[s + 1]; ++t)
        for (int64_t h = 0; h < shape.heads; ++h) {
          const auto expected = attend(shape, qk.data(), qkv.data(), starts[s], t, h);
          for (int64_t d = 0; d < shape.head_dim; ++d)
            ASSERT_NEAR(out[t * shape.q_width() + h * shape.head_dim + d], expected[size_t(d)],
                        this->kTolerance);
        }
  }
}

TYPED_TEST(Ops, CachedAttentionOfSeveralSlots) {
  for (const AttentionShape& shape : kShapes) {
    const int64_t capacity = 64, tokens = 37, head_stride = capacity * shape.head_dim;
    std::vector<TypeParam> keys(size_t(2 * shape.kv_heads * head_stride)), values(keys.size());
    const CacheLayer<TypeParam> cache{keys.data(), values.data(), shape.kv_heads * head_stride, head_stride};
    const auto qk = this->random(2 * tokens * shape.qk_width()),
               qkv = this->random(2 * tokens * shape.qkv_width());
    std::vector<int32_t> slots, positions;
    for (int32_t i = 0; i < 2 * tokens; ++i) {
      slots.push_back(i < tokens ? 1 : 0);
      positions.push_back(i % int32_t(tokens));
    }
    std::vector<TypeParam> out(size_t(2 * tokens * shape.q_width()));
    cache_append(shape, qk.data(), qkv.data(), slots.data(), positions.data(), 2 * tokens, cache);
    cached_attention(shape, qk.data(), slots.data(), positions.data(), 2 * tokens, cache, out.data());
    for (int64_t t = 0; t < 2 * tokens; ++t)
      for (int64_t h = 0; h < shape.heads; ++h) {
        const auto expected = attend(shape, qk.data(), qkv.data(), t < tokens ? 0 : tokens, t, h);
        for (int64_t d = 0; d < shape.head_dim; ++d)
          ASSERT_NEAR(out[t * shape.q_width() + h * shape.head_dim + d], expected[size_t(d)],
                      this->kTolerance);
      }
  }
}

TYPED_TEST(Ops, HeadScores) {
  for (const auto& [rows, vocab] : kSizes) {
    const auto logits = this->random(rows * vocab);
    std::vector<int32_t> targets;
    for (int64_t r = 0; r < rows; ++r) targets.push_back(int32_t(this->rng_.below(uint64_t(vocab))));
    std::vector<double> log_prob(targets.size()), entropy(targets.size());
    score_rows(logits.data(), vocab, vocab, 0.5, targets, log_prob, entropy);
    for (int64_t r = 0; r < rows; ++r) {
      double sum = 0, mixed = 0;
      for (int64_t j = 0; j < vocab; ++j) sum += std::exp(2 * double(logits[r * vocab + j]));
      for (int64_t j = 0; j < vocab; ++j) {
        const double lp = 2 * double(logits[r * vocab + j]) - std::log(sum);
        mixed -= std::exp(lp) * lp;
      }
      ASSERT_NEAR(log_prob[r], 2 * double(logits[r * vocab + targets[r]]) - std::log(sum), this->kTolerance);
      ASSERT_NEAR(entropy[r], mixed, this->kTolerance);
    }
  }
}

// Rows cut down to the `count` largest, as softmax over those alone would have it.
TYPED_TEST(Ops, KeptHeadScores) {
  const int64_t rows = 5, vocab = 40, count = 7;
  const auto logits = this->random(rows * vocab);
  for (int64_t r = 0; r < rows; ++r) {
    const TypeParam* row = logits.data() + r * vocab;
    std::vector<TypeParam> sorted(row, row + vocab);
    std::ranges::sort(sorted, std::greater());
    double sum = 0, mixed = 0;
    for (int64_t k = 0; k < count; ++k) sum += std::exp(2 * double(sorted[size_t(k)]));
    for (int64_t k = 0; k < count; ++k) {
      const double lp = 2 * double(sorted[size_t(k)]) - std::log(sum);
      mixed -= std::exp(lp) * lp;
    }
    for (int32_t target = 0; target < vocab; ++target) {
      std::vector<double> log_prob(1), entropy(1);
      std::vector<KeptRow<TypeParam>> kept(1);
      score_kept_rows<TypeParam>(row, vocab, vocab, 0.5, {.top_k = count}, std::span(&target, 1), log_prob,
                                 entropy, kept);
      ASSERT_NEAR(entropy[0], mixed, this->kTolerance);
      EXPECT_EQ(kept[0].cut, sorted[size_t(count - 1)]);
      if (row[target] < sorted[size_t(count - 1)])
        EXPECT_EQ(log_prob[0], -std::numeric_limits<double>::infinity());
      else
        ASSERT_NEAR(log_prob[0], 2 * double(row[target]) - std::log(sum), this->kTolerance);
    }
  }
}

// As documented: every 1,000th float of the range.
TEST(VectorMath, ExpIsWithinTwoUlp) {
  double worst = 0;
  const auto check = [&](float x) {
    const double exact = std::exp(double(x));
    const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
    worst = std::max(worst, std::abs(double(vector_exp(x)) - exact) / ulp);
  };
  for (int32_t bits = 0; bits < std::bit_cast<int32_t>(88.0f); bits += 1000)
    check(std::bit_cast<float>(bits));
  for (int32_t bits = 0; bits < std::bit_cast<int32_t>(87.0f); bits += 1000)
    check(-std::bit_cast<float>(bits));
  EXPECT_LE(worst, 2);
  EXPECT_GT(worst, 0);
  EXPECT_EQ(vector_exp(-88.0f), 0);
  EXPECT_EQ(vector_exp(-1e30f), 0);
  EXPECT_NEAR(vector_exp(1e30f) / std::exp(88.0f), 1, 1e-5);
}

}  // namespace
}  // namespace temper::policy::cpu
