// CUDA score_rows and its backward against the CPU's; sample_rows against the probabilities it draws from.

#include <cmath>

#include "base/rng.h"
#include "policy/ops/cpu/lm_head.h"
#include "tests/policy/on_gpu/gpu_test.h"

namespace temper::policy {
namespace {

const std::pair<int64_t, int64_t> kSizes[] = {{1, 8},     {3, 40},    {129, 1000}, {5, 1024},
                                              {33, 4104}, {3, 32000}, {2, 151936}, {1, 262144}};

struct Scores {
  at::Tensor log_prob, entropy;
};

// tokens 0: all ids have one.
Scores score(DType dtype, const at::Tensor& logits, const at::Tensor& targets, float scale,
             int64_t tokens = 0) {
  const int64_t rows = logits.size(0);
  const DeviceArray glogits(logits), gtargets(targets), log_prob(at::empty({rows})),
      entropy(at::empty({rows}));
  cuda::score_rows(dtype, glogits.data(), rows, logits.size(1), tokens ? tokens : logits.size(1), scale,
                   gtargets.i32(), log_prob.f32(), entropy.f32(), nullptr);
  return {log_prob.host(), entropy.host()};
}

Scores score_twin(const at::Tensor& logits, const at::Tensor& targets, double temperature,
                  int64_t tokens = 0) {
  const int64_t rows = logits.size(0);
  const at::Tensor l = doubles(logits), log_prob = doubles(at::empty({rows})),
                   entropy = doubles(at::empty({rows}));
  cpu::score_rows(data(l), logits.size(1), tokens ? tokens : logits.size(1), temperature,
                  std::span(targets.const_data_ptr<int32_t>(), size_t(rows)),
                  std::span(data(log_prob), size_t(rows)), std::span(data(entropy), size_t(rows)));
  return {log_prob, entropy};
}

class GpuLmHead : public GpuOps {
 protected:
  // Rows of very different spread, with equal logits among them where they are bf16.
  at::Tensor logits(int64_t rows, int64_t vocab) const {
    return (at::randn({rows, vocab}) * at::linspace(0.1, 6, rows).reshape({rows, 1}) + 5).to(type());
  }
};

TEST_P(GpuLmHead, ScoresEqualTheirTwin) {
  for (const auto& [rows, vocab] : kSizes)
    for (const double temperature : {1.0, 0.5, 2.0}) {
      const at::Tensor x = logits(rows, vocab), targets = at::randint(vocab, {rows}, at::kInt);
      const Scores actual = score(GetParam(), x, targets, float(1 / temperature));
      const Scores expected = score_twin(x, targets, temperature);
      const at::Tensor range = (doubles(x).amax(1) - doubles(x).amin(1)) / temperature;
      const std::string what = fmt::format("{} x {}, temperature {}", rows, vocab, temperature);
      expect_close(actual.log_prob, expected.log_prob, 1 + range, 16, "log_prob " + what);
      expect_close(actual.entropy, expected.entropy, 1 + range, 32, "entropy " + what);
    }
}

TEST_P(GpuLmHead, ACertainTargetHasAPreciseLogProb) {
  at::Tensor x = at::full({1, 1000}, 60.0).to(type());
  x[0][517] = 80;  // log p = −log(1 + 999 e^−20)
  const Scores scores = score(GetParam(), x, ints({517}), 1);
  EXPECT_NEAR(scores.log_prob[0].item<float>(), -std::log1p(999 * std::exp(-20.0)), 2e-7);
}

TEST_P(GpuLmHead, ARowsScoresHaveTheSameBitsAlone) {
  const at::Tensor x = logits(1000, 1000), targets = at::randint(1000, {1000}, at::kInt);
  const Scores all = score(GetParam(), x, targets, 0.7f), again = score(GetParam(), x, targets, 0.7f);
  EXPECT_TRUE(same_bits(all.log_prob, again.log_prob) && same_bits(all.entropy, again.entropy));
  for (const int64_t r : {0, 517, 999}) {
    const Scores alone = score(GetParam(), x.narrow(0, r, 1), targets.narrow(0, r, 1), 0.7f);
    EXPECT_EQ(alone.log_prob[0].item<float>(), all.log_prob[r].item<float>());
    EXPECT_EQ(alone.entropy[0].item<float>(), all.entropy[r].item<float>());
  }
}

TEST_P(GpuLmHead, BackwardEqualsItsTwin) {
  for (const auto& [rows, vocab] : kSizes) {
    const double temperature = 0.5;
    const at::Tensor x = logits(rows, vocab), targets = at::randint(vocab, {rows}, at::kInt);
    const Scores scores = score(GetParam(), x, targets, 2);
    const at::Tensor dl = at::randn({rows}), de = at::randn({rows});
    const DeviceArray glogits(x), gtargets(targets), log_prob(scores.log_prob), entropy(scores.entropy),
        gdl(dl), gde(de);
    cuda::score_rows_backward(GetParam(), glogits.data(), rows, vocab, vocab, 2, gtargets.i32(),
                              log_prob.f32(), entropy.f32(), gdl.f32(), gde.f32(), nullptr);
    const at::Tensor expected = doubles(x), lp = doubles(scores.log_prob), h = doubles(scores.entropy),
                     dl64 = doubles(dl), de64 = doubles(de);
    const auto span = [&](const at::Tensor& t) { return std::span<const double>(data(t), size_t(rows)); };
    cpu::score_rows_backward(data(expected), vocab, vocab, temperature,
                             std::span(targets.const_data_ptr<int32_t>(), size_t(rows)), span(lp), span(h),
                             span(dl64), span(de64));
    const auto column = [&](const at::Tensor& t) { return t.reshape({rows, 1}); };
    const at::Tensor log_p = at::log_softmax(doubles(x) * 2, 1), z = (doubles(x) * 2).abs().amax(1, true);
    at::Tensor size =
        log_p.exp() * (column(dl64).abs() + column(de64).abs() * (1 + log_p.abs() + column(h).abs())) * 2;
    size = size * (1 + z) + 1e-27;  // log p is as wrong as the logits are large; tiny p are 0
    size.scatter_add_(1, column(targets).to(at::kLong), column(dl64).abs() * 2);
    expect_close(glogits.host(), expected, size, 16, fmt::format("{} x {}", rows, vocab));
  }
}

struct Sampled {
  at::Tensor ids, log_prob;
};

Sampled sample(DType dtype, const at::Tensor& logits, const std::vector<cuda::Draw>& draws,
               int64_t tokens = 0) {
  const int64_t count = int64_t(draws.size());
  const at::Tensor bytes = at::empty({int64_t(sizeof(cuda::Draw)) * count}, at::kByte);
  std::memcpy(bytes.data_ptr(), draws.data(), size_t(bytes.numel()));
  const DeviceArray glogits(logits), gdraws(bytes), ids(at::full({count}, -1, at::kInt)),
      log_prob(at::empty({count}));
  cuda::sample_rows(dtype, glogits.data(), logits.size(1), tokens ? tokens : logits.size(1),
                    static_cast<const cuda::Draw*>(gdraws.data()), count, ids.i32(), log_prob.f32(), nullptr);
  return {ids.host(), log_prob.host()};
}

float uniform(Rng& rng) { return std::min(float(rng.uniform()), 0x1.fffffep-1f); }

TEST_P(GpuLmHead, GreedyTakesTheFirstOfTheLargest) {
  for (const auto& [rows, vocab] : kSizes) {
    at::Tensor x = logits(rows, vocab);
    if (vocab >= 1000) x[0][vocab - 1] = x[0][vocab / 3] = x[0][vocab / 3 + 1] = 100;
    std::vector<cuda::Draw> draws;
    for (int64_t r = 0; r < rows; ++r) draws.push_back({int32_t(r), 1, 1, 0});
    const Sampled sampled = sample(GetParam(), x, draws);
    const at::Tensor x32 = x.to(at::kFloat);
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = x32.const_data_ptr<float>() + r * vocab;
      ASSERT_EQ(sampled.ids[r].item<int32_t>(), std::max_element(row, row + vocab) - row)
          << rows << " x " << vocab;
    }
    EXPECT_TRUE(same_bits(sampled.log_prob, score(GetParam(), x, sampled.ids, 1).log_prob));
  }
}

// Each draw's u lies between the running sums before and behind its id, but for the rounding of the sums.
TEST_P(GpuLmHead, DrawsInvertTheRunningSum) {
  Rng rng(5);
  for (const auto& [rows, vocab] : kSizes) {
    const at::Tensor x = logits(rows, vocab), sums = at::softmax(doubles(x) / 0.8, 1).cumsum(1);
    std::vector<cuda::Draw> draws;
    for (int64_t r = 0; r < rows; ++r)
      for (const float u : {0.f, uniform(rng), uniform(rng), uniform(rng), 0x1.fffffep-1f})
        draws.push_back({int32_t(r), 0, 1.25f, u});
    const Sampled sampled = sample(GetParam(), x, draws);
    const double slack = 64 * kEps * (1 + doubles(x).abs().max().item<double>());
    for (size_t i = 0; i < draws.size(); ++i) {
      const at::Tensor row = sums[draws[i].row];
      const int32_t id = sampled.ids[int64_t(i)].item<int32_t>();
      ASSERT_GE(id, 0);
      ASSERT_LT(id, vocab);
      EXPECT_GT(row[id].item<double>(), double(draws[i].u) - slack)
          << rows << " x " << vocab << ", id " << id;
      EXPECT_LE(id ? row[id - 1].item<double>() : 0, double(draws[i].u) + slack) << rows << " x " << vocab;
    }
  }
}

TEST_P(GpuLmHead, ADrawsLogProbHasTheBitsOfItsScore) {
  Rng rng(7);
  for (const auto& [rows, vocab] : kSizes)
    for (const float scale : {1.0f, 1.25f, 1 / 0.7f}) {
      const at::Tensor x = logits(rows, vocab);
      std::vector<cuda::Draw> draws;  // rows in falling order
      for (int64_t r = rows; r-- > 0;) draws.push_back({int32_t(r), 0, scale, uniform(rng)});
      const Sampled sampled = sample(GetParam(), x, draws), again = sample(GetParam(), x, draws);
      const at::Tensor scored = score(GetParam(), x, sampled.ids.flip(0).contiguous(), scale).log_prob;
      EXPECT_TRUE(same_bits(sampled.log_prob, scored.flip(0).contiguous()))
          << rows << " x " << vocab << " " << scale;
      EXPECT_TRUE(same_bits(sampled.ids, again.ids));
    }
}

TEST_P(GpuLmHead, FrequenciesFollowProbabilities) {
  constexpr int64_t kDraws = 40000, kVocab = 2056;
  const at::Tensor x = (at::randn({1, kVocab}) * 4).to(type());
  Rng rng(9);
  std::vector<cuda::Draw> draws;
  for (int64_t i = 0; i < kDraws; ++i) draws.push_back({0, 0, 1, uniform(rng)});
  const at::Tensor counts = at::bincount(sample(GetParam(), x, draws).ids, {}, kVocab).to(at::kDouble);
  const at::Tensor expected = at::softmax(doubles(x)[0], 0) * kDraws, often = expected >= 5;
  const at::Tensor chi = ((counts - expected).square() / expected).masked_select(often);
  const double n = double(chi.numel());
  ASSERT_GT(n, 100);
  EXPECT_LT(chi.sum().item<double>(), n + 5 * std::sqrt(2 * n));  // five standard deviations
}

TEST_P(GpuLmHead, OnlyWhatHasWeightIsDrawn) {
  for (const int64_t vocab : {8, 1000, 151936})
    for (const int64_t only : {int64_t(0), vocab / 2, vocab - 1}) {
      at::Tensor x = at::full({1, vocab}, -500.0).to(type());
      x[0][only] = 0;
      const Sampled sampled =
          sample(GetParam(), x, {{0, 0, 1, 0}, {0, 0, 1, 0.5f}, {0, 0, 1, 0x1.fffffep-1f}});
      EXPECT_TRUE((sampled.ids == only).all().item<bool>()) << sampled.ids << vocab;
      EXPECT_TRUE((sampled.log_prob == 0).all().item<bool>()) << sampled.log_prob;
    }
}

// Rows of logits with, behind their tokens, columns that would win every draw.
struct Padded {
  int64_t vocab, tokens;
};
const Padded kPadded[] = {{8, 1}, {40, 33}, {1000, 997}, {4104, 2048}, {4104, 4097}, {151936, 151669}};

at::Tensor loud_behind(at::Tensor logits, int64_t tokens) {
  logits.narrow(1, tokens, logits.size(1) - tokens).fill_(1000);
  return logits;
}

TEST_P(GpuLmHead, RowsWithoutATokenChangeNoScore) {
  for (const auto& [vocab, tokens] : kPadded) {
    const int64_t rows = 3;
    const at::Tensor x = loud_behind(logits(rows, vocab), tokens);
    const at::Tensor targets = at::randint(tokens, {rows}, at::kInt);
    const Scores actual = score(GetParam(), x, targets, 2, tokens);
    const Scores expected = score_twin(x, targets, 0.5, tokens);
    const at::Tensor known = doubles(x).narrow(1, 0, tokens);
    const at::Tensor range = (known.amax(1) - known.amin(1)) * 2;
    expect_close(actual.log_prob, expected.log_prob, 1 + range, 16, fmt::format("{} of {}", tokens, vocab));
    expect_close(actual.entropy, expected.entropy, 1 + range, 32, fmt::format("{} of {}", tokens, vocab));
    at::Tensor quiet_x = x.clone();
    quiet_x.narrow(1, tokens, vocab - tokens).fill_(-3);
    const Scores quiet = score(GetParam(), quiet_x, targets, 2, tokens);
    EXPECT_TRUE(same_bits(quiet.log_prob, actual.log_prob));
  }
}

TEST_P(GpuLmHead, RowsWithoutATokenGetNoGradient) {
  for (const auto& [vocab, tokens] : kPadded) {
    const int64_t rows = 3;
    const at::Tensor x = loud_behind(logits(rows, vocab), tokens);
    const at::Tensor targets = at::randint(tokens, {rows}, at::kInt);
    const Scores scores = score(GetParam(), x, targets, 1, tokens);
    const DeviceArray glogits(x), gtargets(targets), log_prob(scores.log_prob), entropy(scores.entropy),
        ones(at::ones({rows}));
    cuda::score_rows_backward(GetParam(), glogits.data(), rows, vocab, tokens, 1, gtargets.i32(),
                              log_prob.f32(), entropy.f32(), ones.f32(), ones.f32(), nullptr);
    const at::Tensor gradient = doubles(glogits.host());
    EXPECT_TRUE((gradient.narrow(1, tokens, vocab - tokens) == 0).all().item<bool>()) << tokens;
    EXPECT_LT(gradient.sum(1).abs().max().item<double>(), 0.3) << tokens;  // exactly 0 but for rounding
  }
}

TEST_P(GpuLmHead, RowsWithoutATokenAreNeverDrawn) {
  Rng rng(11);
  for (const auto& [vocab, tokens] : kPadded) {
    const at::Tensor x = loud_behind(logits(3, vocab), tokens);
    std::vector<cuda::Draw> draws;
    for (int32_t r = 0; r < 3; ++r)
      for (const float u : {0.f, uniform(rng), 0x1.fffffep-1f})
        for (const int32_t greedy : {0, 1}) draws.push_back({r, greedy, 1, u});
    const Sampled sampled = sample(GetParam(), x, draws, tokens);
    EXPECT_TRUE((sampled.ids < tokens).all().item<bool>()) << sampled.ids << tokens;
    EXPECT_TRUE(at::isfinite(sampled.log_prob).all().item<bool>());
    for (int64_t r = 0; r < 3; ++r) {
      const at::Tensor ids = sampled.ids.narrow(0, 6 * r, 6), row = x.narrow(0, r, 1).expand({6, vocab});
      const Scores scored = score(GetParam(), row.contiguous(), ids.contiguous(), 1, tokens);
      EXPECT_TRUE(same_bits(sampled.log_prob.narrow(0, 6 * r, 6).contiguous(), scored.log_prob)) << tokens;
    }
  }
}

const Truncation kTruncations[] = {{.top_p = 1, .top_k = 1},     {.top_p = 1, .top_k = 7},
                                   {.top_p = 0.9, .top_k = 0},   {.top_p = 0.3, .top_k = 0},
                                   {.top_p = 0.95, .top_k = 20}, {.top_p = 1, .top_k = 1 << 20}};

struct KeptScores {
  at::Tensor log_prob, entropy, kept;  // kept [rows, 2]: cut, log Σ exp
};

KeptScores score_kept(DType dtype, const at::Tensor& logits, const at::Tensor& targets, float scale,
                      const Truncation& truncation, int64_t tokens) {
  const int64_t rows = logits.size(0);
  const DeviceArray glogits(logits), gtargets(targets), log_prob(at::empty({rows})),
      entropy(at::empty({rows})), kept(at::empty({rows, 2}));
  cuda::score_kept_rows(dtype, glogits.data(), rows, logits.size(1), tokens, scale, truncation,
                        gtargets.i32(), log_prob.f32(), entropy.f32(),
                        static_cast<cuda::KeptRow*>(kept.data()), nullptr);
  return {log_prob.host(), entropy.host(), kept.host()};
}

// As many as top-k says, equals together, and of these as few as hold top-p, but for the rounding of the
// sums.
TEST_P(GpuLmHead, TheCutKeepsWhatTruncationSays) {
  for (const auto& [vocab, tokens] : kPadded)
    for (const Truncation& truncation : kTruncations) {
      const int64_t rows = 3;
      const at::Tensor x = loud_behind(logits(rows, vocab), tokens);
      const KeptScores scores =
          score_kept(GetParam(), x, at::randint(tokens, {rows}, at::kInt), 1.25f, truncation, tokens);
      for (int64_t r = 0; r < rows; ++r) {
        const std::string what =
            fmt::format("{} of {}, p {} k {}", tokens, vocab, truncation.top_p, truncation.top_k);
        const at::Tensor row = std::get<0>(doubles(x[r]).narrow(0, 0, tokens).sort(0, true));
        const double cut = scores.kept[r][0].item<float>();
        const int64_t kept = (row >= cut).sum().item<int64_t>();
        const at::Tensor sums = (row - row[0]).mul(1.25).exp().cumsum(0);
        int64_t most = tokens;  // kept by top-k
        if (truncation.top_k > 0 && truncation.top_k < tokens)
          most = (row >= row[truncation.top_k - 1]).sum().item<int64_t>();
        ASSERT_GE(kept, 1) << what;
        ASSERT_LE(kept, most) << what;
        EXPECT_TRUE(truncation.top_p < 1 || kept == most) << what << ": " << kept << " for " << most;
        const double limit = double(float(truncation.top_p)) * sums[most - 1].item<double>();
        EXPECT_GE(sums[kept - 1].item<double>(), limit * (1 - 1e-4)) << what;
        const int64_t larger = (row > row[kept - 1]).sum().item<int64_t>();
        const double above = larger > 0 ? sums[larger - 1].item<double>() : 0;
        EXPECT_LT(above, limit * (1 + 1e-4)) << what;
      }
    }
}

TEST_P(GpuLmHead, KeptScoresAreThoseOfTheKeptLogits) {
  for (const auto& [vocab, tokens] : kPadded)
    for (const Truncation& truncation : kTruncations) {
      const int64_t rows = 3;
      const at::Tensor x = loud_behind(logits(rows, vocab), tokens);
      for (const bool best : {true, false}) {
        const at::Tensor targets = best ? x.to(at::kFloat).narrow(1, 0, tokens).argmax(1).to(at::kInt)
                                        : at::randint(tokens, {rows}, at::kInt);
        const KeptScores scores = score_kept(GetParam(), x, targets, 1.25f, truncation, tokens);
        const at::Tensor cut = scores.kept.narrow(1, 0, 1).to(at::kDouble);
        at::Tensor known = doubles(x).narrow(1, 0, tokens);
        const at::Tensor left = known >= cut, range = (known.amax(1) - known.amin(1)) * 1.25;
        const at::Tensor log_p = at::log_softmax(known.mul(1.25).masked_fill(left.logical_not(), -1e9), 1);
        const at::Tensor at_target = log_p.gather(1, targets.to(at::kLong).reshape({rows, 1})).reshape(-1);
        const at::Tensor inside = at_target > -1e8;
        const std::string what =
            fmt::format("{} of {}, p {} k {}", tokens, vocab, truncation.top_p, truncation.top_k);
        EXPECT_TRUE((at::isinf(scores.log_prob) == inside.logical_not()).all().item<bool>()) << what;
        EXPECT_TRUE(!best || inside.all().item<bool>()) << what;
        expect_close(scores.log_prob.masked_fill(inside.logical_not(), 0),
                     at_target.masked_fill(inside.logical_not(), 0), 1 + range, 16, "log_prob " + what);
        const at::Tensor entropy = -(log_p.exp() * log_p.clamp_min(-1e8)).sum(1);
        expect_close(scores.entropy, entropy, 1 + range, 32, "entropy " + what);
      }
    }
}

TEST_P(GpuLmHead, ATruncatedDrawIsKeptAndItsLogProbHasTheBitsOfItsScore) {
  Rng rng(13);
  for (const auto& [vocab, tokens] : kPadded)
    for (const Truncation& truncation : kTruncations) {
      const at::Tensor x = loud_behind(logits(3, vocab), tokens);
      std::vector<cuda::Draw> draws;
      for (const float u : {0.f, uniform(rng), uniform(rng), uniform(rng), 0x1.fffffep-1f})
        for (int32_t r = 0; r < 3; ++r)
          draws.push_back({r, 0, 1 / 0.7f, u, float(truncation.top_p), cuda::device_top_k(truncation)});
      const Sampled sampled = sample(GetParam(), x, draws, tokens);
      const std::string what =
          fmt::format("{} of {}, p {} k {}", tokens, vocab, truncation.top_p, truncation.top_k);
      for (int64_t i = 0; i < 5; ++i) {
        const at::Tensor ids = sampled.ids.narrow(0, 3 * i, 3).contiguous();
        const KeptScores scores = score_kept(GetParam(), x, ids, 1 / 0.7f, truncation, tokens);
        EXPECT_TRUE(same_bits(sampled.log_prob.narrow(0, 3 * i, 3).contiguous(), scores.log_prob)) << what;
        EXPECT_TRUE(at::isfinite(scores.log_prob).all().item<bool>()) << what;
      }
    }
}

TEST_P(GpuLmHead, TruncatedFrequenciesFollowProbabilities) {
  constexpr int64_t kDraws = 40000, kVocab = 2056;
  const at::Tensor x = (at::randn({1, kVocab}) * 2).to(type());
  Rng rng(15);
  std::vector<cuda::Draw> draws;
  for (int64_t i = 0; i < kDraws; ++i) draws.push_back({0, 0, 1, uniform(rng), 0.8f, 0});
  const Truncation truncation = {.top_p = 0.8f, .top_k = 0};
  const double cut = score_kept(GetParam(), x, ints({0}), 1, truncation, kVocab).kept[0][0].item<float>();
  const at::Tensor row = doubles(x)[0], left = row >= cut;
  const at::Tensor expected = at::softmax(row.masked_fill(left.logical_not(), -1e9), 0) * kDraws;
  const at::Tensor counts = at::bincount(sample(GetParam(), x, draws).ids, {}, kVocab).to(at::kDouble);
  EXPECT_EQ(counts.masked_select(left.logical_not()).sum().item<double>(), 0);
  const at::Tensor often = expected >= 5;
  const at::Tensor chi = ((counts - expected).square() / expected).masked_select(often);
  const double n = double(chi.numel());
  ASSERT_GT(n, 100);
  EXPECT_LT(chi.sum().item<double>(), n + 5 * std::sqrt(2 * n));
}

TEST_P(GpuLmHead, KeptBackwardIsTheWholeOneOfTheKeptLogits) {
  const Truncation truncation = {.top_p = 0.9, .top_k = 50};
  for (const auto& [vocab, tokens] : kPadded) {
    const int64_t rows = 4;
    const at::Tensor x = loud_behind(logits(rows, vocab), tokens);
    at::Tensor targets = x.to(at::kFloat).narrow(1, 0, tokens).argmax(1).to(at::kInt);
    if (tokens > 100)
      targets[0] = x.to(at::kFloat)[0].narrow(0, 0, tokens).argmin().to(at::kInt);  // left out
    const KeptScores scores = score_kept(GetParam(), x, targets, 2, truncation, tokens);
    const at::Tensor dl = at::randn({rows}), de = at::randn({rows});
    const DeviceArray glogits(x), gtargets(targets), kept(scores.kept), entropy(scores.entropy), gdl(dl),
        gde(de);
    cuda::score_kept_rows_backward(GetParam(), glogits.data(), rows, vocab, tokens, 2, gtargets.i32(),
                                   static_cast<const cuda::KeptRow*>(kept.data()), entropy.f32(), gdl.f32(),
                                   gde.f32(), nullptr);
    const at::Tensor gradient = doubles(glogits.host());
    const at::Tensor known = doubles(x).narrow(1, 0, tokens);
    const at::Tensor left = known >= scores.kept.narrow(1, 0, 1).to(at::kDouble);
    const at::Tensor log_p = at::log_softmax(known.mul(2).masked_fill(left.logical_not(), -1e9), 1),
                     p = log_p.exp();
    const auto column = [&](const at::Tensor& t) { return doubles(t).reshape({rows, 1}); };
    const at::Tensor at_target = at::zeros_like(p).scatter(1, targets.to(at::kLong).reshape({rows, 1}), 1.0);
    const at::Tensor inside = (at_target * left).sum(1, true);
    const at::Tensor expected = 2 * (column(dl) * inside * (at_target - p) -
                                     column(de) * p * (log_p.clamp_min(-1e8) + column(scores.entropy)));
    const at::Tensor z = known.mul(2).abs().amax(1, true);
    const at::Tensor size = (p *
                             (column(dl).abs() + column(de).abs() * (1 + log_p.clamp_min(-1e3).abs() +
                                                                     column(scores.entropy).abs())) *
                             2) *
                                (1 + z) +
                            at_target * column(dl).abs() * 2 + 1e-27;
    expect_close(glogits.host().narrow(1, 0, tokens), expected, size, 16,
                 fmt::format("{} of {}", tokens, vocab));
    EXPECT_TRUE((gradient.narrow(1, 0, tokens).masked_select(left.logical_not()) == 0).all().item<bool>());
    EXPECT_TRUE((gradient.narrow(1, tokens, vocab - tokens) == 0).all().item<bool>());
  }
}

TEMPER_BOTH_TYPES(GpuLmHead);

}  // namespace
}  // namespace temper::policy
