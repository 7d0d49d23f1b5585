#include "rollout/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/rng.h"
#include "tests/policy/small_model.h"

namespace temper::rollout {
namespace {

constexpr int64_t kMaxTokens = 128;

policy::Policy& policy() {
  static policy::Policy one = policy::random_policy(policy::small_config(), {}, 3, 0.15);
  return one;
}

GenerationRequest request_of(uint64_t id) {
  GenerationRequest request;
  request.id = id;
  request.rng_key = mix_key({11, id});
  request.ids = policy::random_ids(5 + int64_t(id % 14) * 5, 37, id % 14);  // several share their prompt
  request.max_new_tokens = 10 + int64_t(id % 30);
  request.stop_ids = {3};
  return request;
}

std::map<uint64_t, Generation> generate(Generator& generator) {
  std::map<uint64_t, Generation> all;
  while (!generator.idle()) {
    for (Generation& one : generator.step()) all.emplace(one.id, std::move(one));
  }
  return all;
}

std::map<uint64_t, Generation> generate(const std::vector<GenerationRequest>& requests, int64_t slots) {
  Generator generator(policy(), slots, kMaxTokens);
  for (const GenerationRequest& request : requests) generator.add(request);
  return generate(generator);
}

std::vector<GenerationRequest> many_requests(uint64_t count) {
  std::vector<GenerationRequest> requests;
  for (uint64_t id = 0; id < count; ++id) requests.push_back(request_of(id));
  return requests;
}

void expect_same(const Generation& a, const Generation& b) {
  EXPECT_EQ(a.ids, b.ids) << "request " << a.id;
  EXPECT_EQ(a.stopped, b.stopped);
  EXPECT_EQ(a.log_probs, b.log_probs);  // to the bit
}

TEST(Generator, AloneEqualsInABatchOf64) {
  const auto requests = many_requests(64);
  const auto together = generate(requests, 64);
  ASSERT_EQ(together.size(), 64u);
  for (const GenerationRequest& request : requests) {
    expect_same(together.at(request.id), generate({request}, 1).at(request.id));
  }
}

TEST(Generator, OrderAndSlotsDoNotMatter) {
  auto requests = many_requests(40);
  const auto expected = generate(requests, 40);
  std::reverse(requests.begin(), requests.end());
  for (int64_t slots : {1, 7, 64}) {
    const auto found = generate(requests, slots);
    for (const auto& [id, generation] : expected) expect_same(generation, found.at(id));
  }
}

TEST(Generator, LogProbsAreThePolicys) {
  for (const auto& [id, generation] : generate(many_requests(20), 8)) {
    policy::PackedTokens row;
    row.ids = request_of(id).ids;
    row.scored.assign(row.ids.size(), 0);
    row.ids.insert(row.ids.end(), generation.ids.begin(), generation.ids.end());
    row.scored.resize(row.ids.size(), 1);
    row.starts = {0, int32_t(row.ids.size())};
    const policy::TokenScores scores = policy().forward(row);
    const size_t prompt = row.ids.size() - generation.ids.size();
    for (size_t n = 0; n < generation.ids.size(); ++n) {
      EXPECT_NEAR(generation.log_probs[n], scores.log_prob[prompt + n], 1e-5);
    }
  }
}

// What is recorded is what training computes, and adds up to one over what top-k and top-p leave.
TEST(Generator, LogProbsAreThePolicysUnderTopKAndTopP) {
  for (const policy::SamplingParams params :
       {policy::SamplingParams{.temperature = 0.8, .top_p = 0.7}, {.top_k = 4}, {.top_p = 0.9, .top_k = 6}}) {
    auto requests = many_requests(20);
    for (GenerationRequest& request : requests) request.sampling = params;
    int64_t sure = 0, tokens = 0;
    for (const auto& [id, generation] : generate(requests, 8)) {
      policy::PackedTokens row;
      row.ids = request_of(id).ids;
      const size_t prompt = row.ids.size();
      row.ids.insert(row.ids.end(), generation.ids.begin(), generation.ids.end());
      row.scored.assign(prompt, 0);
      row.scored.resize(row.ids.size(), 1);
      row.starts = {0, int32_t(row.ids.size())};
      const policy::TokenScores scores = policy().forward(row, params);
      const policy::TokenScores whole = policy().forward(row, params.temperature);
      for (size_t n = 0; n < generation.ids.size(); ++n) {
        EXPECT_NEAR(generation.log_probs[n], scores.log_prob[prompt + n], 1e-5);
        sure += scores.log_prob[prompt + n] > whole.log_prob[prompt + n] + 1e-3;
        ++tokens;
      }
    }
    EXPECT_GT(sure, tokens / 2);
  }
}

TEST(Generator, AGroupsPromptIsComputedOnce) {
  Generator generator(policy(), 4, kMaxTokens);
  GenerationRequest request = request_of(5);
  const auto prompt = int64_t(request.ids.size());
  std::map<uint64_t, Generation> expected;
  for (uint64_t sample = 0; sample < 8; ++sample) {
    request.id = sample;
    request.rng_key = sample;
    generator.add(request);
    expected.merge(generate({request}, 1));
  }
  const auto found = generate(generator);
  for (const auto& [id, generation] : expected) expect_same(generation, found.at(id));
  // Four at once; those that come later, at most four times, compute the prompt's last token again.
  EXPECT_GT(generator.tokens_prefilled(), prompt);
  EXPECT_LE(generator.tokens_prefilled(), prompt + 4);
  EXPECT_NE(found.at(0).ids, found.at(1).ids);
}

TEST(Generator, StopsAtTheStopTokenAndAtTheLimits) {
  const auto free = generate({request_of(4)}, 1).at(4);
  GenerationRequest request = request_of(4);
  request.stop_ids = {-1, free.ids[3]};
  const auto stopped = generate({request}, 1).at(4);
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.ids.back(), request.stop_ids.back());
  EXPECT_LE(stopped.ids.size(), 4u);
  request.stop_ids = {};
  request.max_new_tokens = 1000;
  const auto full = generate({request}, 1).at(4);
  EXPECT_FALSE(full.stopped);
  EXPECT_EQ(int64_t(request.ids.size() + full.ids.size()), kMaxTokens);
  request.max_new_tokens = 6;
  EXPECT_EQ(generate({request}, 1).at(4).ids.size(), 6u);
}

TEST(Generator, AKeptSlotEqualsARecomputedRow) {
  Generator generator(policy(), 3, kMaxTokens);
  for (uint64_t id = 0; id < 3; ++id) {
    GenerationRequest request = request_of(id);
    request.keep = true;
    generator.add(request);
  }
  const auto first = generate(generator);
  const int64_t before = generator.tokens_prefilled();
  std::vector<GenerationRequest> second;
  for (const auto& [id, generation] : first) {
    GenerationRequest request = request_of(id);
    request.rng_key = 100 + id;
    request.ids.insert(request.ids.end(), generation.ids.begin(), generation.ids.end());
    request.ids.insert(request.ids.end(), {1, 2, 4, 5});
    second.push_back(request);
    generator.add(request);
  }
  const auto kept = generate(generator);
  EXPECT_EQ(generator.tokens_prefilled() - before, 3 * 5);  // the last sampled token and the four behind it
  for (const auto& [id, generation] : generate(second, 3)) expect_same(generation, kept.at(id));
}

// Of the answer to its own request, with some ids behind it.
GenerationRequest next_turn(const Generation& generation) {
  GenerationRequest request = request_of(generation.id);
  request.rng_key = 100 + generation.id;
  request.ids.insert(request.ids.end(), generation.ids.begin(), generation.ids.end());
  request.ids.insert(request.ids.end(), {1, 2, 4, 5});
  return request;
}

// Where there is no other room, kept keys make way and are computed again.
TEST(Generator, KeptKeysAreGivenUpUnderPressure) {
  for (const int64_t slots : {1, 2, 3, 5}) {
    Generator generator(policy(), slots, kMaxTokens);
    for (uint64_t id = 0; id < 5; ++id) {
      GenerationRequest request = request_of(id);
      request.keep = true;
      generator.add(request);
    }
    std::map<uint64_t, Generation> first;
    for (int steps = 0; !generator.idle() && steps < 1000; ++steps) {
      const int64_t before = generator.tokens_generated();
      for (Generation& one : generator.step()) first.emplace(one.id, std::move(one));
      EXPECT_GT(generator.tokens_generated(), before);  // a step that is no step would be made for ever
    }
    ASSERT_EQ(first.size(), 5u) << slots << " slots";
    for (const auto& [id, generation] : first) {
      expect_same(generate({request_of(id)}, 1).at(id), generation);
      generator.add(next_turn(generation));
    }
    const auto second = generate(generator);
    for (const auto& [id, generation] : first)
      expect_same(generate({next_turn(generation)}, 1).at(id), second.at(id));
  }
}

TEST(Generator, WhoComesBackFindsItsKeysWhereThereWasRoom) {
  Generator generator(policy(), 2, kMaxTokens);
  for (const uint64_t id : {1, 2}) {
    GenerationRequest request = request_of(id);
    request.keep = true;
    generator.add(request);
  }
  const auto first = generate(generator);
  const int64_t before = generator.tokens_prefilled();
  generator.add(request_of(3));  // there is no room for it, and who comes back at the same time goes first
  generator.add(next_turn(first.at(1)));
  generator.add(next_turn(first.at(2)));
  generate(generator);
  EXPECT_EQ(generator.tokens_prefilled() - before, 2 * 5 + int64_t(request_of(3).ids.size()));
  generator.release(1);  // keeps nothing any more
  generator.release(77);
}

TEST(Generator, GreedyTakesTheLikeliest) {
  GenerationRequest request = request_of(6);
  request.sampling.temperature = 0;
  const auto one = generate({request}, 1).at(6);
  request.rng_key = 999;
  expect_same(one, generate({request}, 1).at(6));
}

}  // namespace
}  // namespace temper::rollout
