// Tokens with which neighbouring rows begin, computed once.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "tests/trainer/learn/small_learner.h"
#include "trainer/learn/packing.h"

namespace temper::trainer {

using policy::Policy;
using rollout::Batch;
using rollout::Group;
using rollout::Trajectory;

namespace {

// Rows of a prompt, which has the given first id and is not scored, and of an answer, which is.
class PromptRows {
 public:
  void add(int32_t first_id, int64_t prompt, int64_t answer) {
    auto& ids = ids_.emplace_back();
    for (int64_t i = 0; i < prompt; ++i) ids.push_back(first_id + int32_t(i));
    ids.resize(size_t(prompt + answer), -int32_t(ids_.size()));
    auto& scored = scored_.emplace_back(size_t(prompt), uint8_t(0));
    scored.resize(ids.size(), 1);
  }
  std::vector<PackRow> rows() const {
    std::vector<PackRow> rows;
    for (size_t i = 0; i < ids_.size(); ++i) rows.push_back({ids_[i], scored_[i]});
    return rows;
  }

 private:
  std::vector<std::vector<int32_t>> ids_;
  std::vector<std::vector<uint8_t>> scored_;
};

// The pack's rows with their prefixes, as they were given.
std::vector<std::vector<int32_t>> whole_rows(const policy::PackedTokens& pack) {
  std::vector<std::vector<int32_t>> rows;
  for (size_t s = 0; s + 1 < pack.starts.size(); ++s) {
    std::vector<int32_t> row;
    if (pack.prefix(s) > 0) row.assign(rows.back().begin(), rows.back().begin() + pack.prefix(s));
    row.insert(row.end(), pack.ids.begin() + pack.starts[s], pack.ids.begin() + pack.starts[s + 1]);
    rows.push_back(std::move(row));
  }
  return rows;
}

// The token that predicts an answer's first one belongs to each row.
TEST(SharedPrompts, ArePackedOnce) {
  PromptRows all;
  for (const int64_t answer : {10, 20, 30}) all.add(0, 40, answer);
  all.add(100, 40, 5);
  all.add(100, 40, 900);  // so long that 39 tokens are not worth copies of its keys
  const auto packs = make_packs(all.rows(), {2000, true});
  ASSERT_EQ(packs.size(), 1u);
  const policy::PackedTokens& tokens = packs.front().tokens;
  EXPECT_EQ(tokens.prefixes, (std::vector<int32_t>{0, 39, 39, 0, 0}));
  EXPECT_EQ(std::ssize(tokens.ids), 50 + 21 + 31 + 45 + 940);
  const auto rows = whole_rows(tokens);
  ASSERT_EQ(rows.size(), all.rows().size());
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_TRUE(std::ranges::equal(rows[i], all.rows()[i].ids)) << i;
  size_t k = 0;
  for (size_t t = 0; t < tokens.ids.size(); ++t) {
    if (!tokens.scored[t]) continue;
    const ScoredPlace& place = packs.front().scored[k++];
    EXPECT_EQ(all.rows()[place.row].ids[size_t(place.t)], tokens.ids[t]);
  }
  EXPECT_EQ(k, packs.front().scored.size());
  for (const Pack& pack : make_packs(all.rows(), {2000, false}))
    EXPECT_EQ(std::ranges::count(pack.tokens.prefixes, 0), std::ssize(pack.tokens.prefixes));
}

TEST(SharedPrompts, MakeFewerPacksOfBoundedMemory) {
  PromptRows all;
  for (int i = 0; i < 20; ++i) all.add(0, 90, 10);
  const auto rows_of = [&](const Packing& packing) {
    std::vector<size_t> counts;
    for (const Pack& pack : make_packs(all.rows(), packing)) {
      EXPECT_LE(std::ssize(pack.tokens.ids), packing.max_tokens);
      counts.push_back(pack.tokens.starts.size() - 1);
      EXPECT_EQ(pack.tokens.prefix(0), 0);
    }
    return counts;
  };
  EXPECT_EQ(rows_of({200, false}), std::vector<size_t>(10, 2));
  // 100 + 6 · 11 tokens; with one row more a last pack would be small. 8 rows are the most that copies of keys allow.
  EXPECT_EQ(rows_of({200, true}), (std::vector<size_t>{7, 7, 6}));
}

// With as many prompts as ranks each rank has one, and where there are fewer, ranks have parts of them.
TEST(SharedPrompts, StayTogetherWhereRanksComeOutEven) {
  const Policy policy = tiny_policy();
  const auto dealt = [&](int prompts, int ranks, bool share) {
    PromptRows all;
    for (int i = 0; i < 16 * prompts; ++i) all.add(1000 * (i / 16), 90, 10);
    auto rows = deal_rows(policy, all.rows(), {1000, share}, ranks);
    std::vector<size_t> every;
    for (const auto& mine : rows) {
      EXPECT_TRUE(std::ranges::is_sorted(mine));
      EXPECT_EQ(mine.size(), size_t(16 * prompts / ranks));
      every.insert(every.end(), mine.begin(), mine.end());
    }
    std::ranges::sort(every);
    EXPECT_EQ(std::set<size_t>(every.begin(), every.end()).size(), size_t(16 * prompts));
    return rows;
  };
  for (const auto& [prompts, ranks] : {std::pair{4, 4}, {8, 2}, {1, 4}, {2, 8}, {3, 1}})
    for (const auto& mine : dealt(prompts, ranks, true)) {
      std::set<size_t> of;
      for (const size_t row : mine) of.insert(row / 16);
      EXPECT_EQ(of.size(), size_t(std::max(1, prompts / ranks)))
          << prompts << " prompts, " << ranks << " ranks";
    }
  EXPECT_EQ(dealt(4, 2, false)[0][1], 2u);  // alone, rows of equal cost are dealt in turn
}

// Each group's rows begin with the same tokens.
Batch with_prompts(Batch batch, int32_t tokens) {
  uint64_t key = 0;
  for (Group& group : batch.groups) {
    std::vector<int32_t> prompt;
    Rng rng(++key + 50);
    for (int32_t i = 0; i < tokens; ++i) prompt.push_back(int32_t(rng.below(11)));
    for (Trajectory& trajectory : group.samples) {
      rollout::Segment& row = trajectory.segments[0];
      std::ranges::copy(std::vector<int32_t>{3, 5}, row.ids.begin());  // what was its prompt
      row.ids.insert(row.ids.begin(), prompt.begin(), prompt.end());
      row.roles.insert(row.roles.begin(), prompt.size(), rollout::Role::kPrompt);
      row.log_probs.insert(row.log_probs.begin(), prompt.size(), 0);
      for (rollout::Turn& turn : trajectory.turns) turn.begin += tokens, turn.end += tokens;
    }
  }
  return batch;
}

TEST(SharedPrompts, TeachWhatWholeRowsTeach) {
  Policy policy = tiny_policy();
  const Batch rows = with_prompts(make_batch(policy), 30);
  for (const Batch& batch : {rows, with_a_row_for_each_turn(rows)})
    for (const LossOptions& loss : loss_variants())
      for (const int64_t tokens : {1, 60, 10000}) {
        LearnStats one, other;
        const TokenAdvantages advantages = random_advantages(batch);
        const at::Tensor want = gradient_of(
            policy, batch, advantages, {.micro_batch_tokens = tokens, .share_prompts = false}, loss, &one);
        const at::Tensor got =
            gradient_of(policy, batch, advantages, {.micro_batch_tokens = tokens}, loss, &other);
        EXPECT_GT(want.abs().max().item<double>(), 1e-3);
        EXPECT_LT(largest_difference(got, want), 1e-12);
        EXPECT_EQ(one.tokens, other.tokens);
        EXPECT_NEAR(one.loss, other.loss, 1e-12);
        EXPECT_NEAR(one.reference_kl, other.reference_kl, 1e-12);
        EXPECT_EQ(one.rollout_unequal, other.rollout_unequal);
        EXPECT_EQ(one.packed_tokens == other.packed_tokens, tokens == 1);
        EXPECT_EQ(one.model_flops == other.model_flops, tokens == 1);
        EXPECT_LE(other.packed_tokens, one.packed_tokens);
        EXPECT_LE(other.model_flops, one.model_flops);
      }
}

TEST(SharedPrompts, ChangeNoBitOfALogProb) {
  Policy policy = tiny_policy(policy::DType::kF32);
  const Batch batch = with_prompts(make_batch(policy), 30);
  Learner whole(policy, {.share_prompts = false}, {}, {}, {}, 1), sharing(policy, {}, {}, {}, {}, 1);
  EXPECT_EQ(whole.log_probs(batch), sharing.log_probs(batch));
}

}  // namespace
}  // namespace temper::trainer
