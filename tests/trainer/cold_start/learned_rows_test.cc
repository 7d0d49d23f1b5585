#include "trainer/cold_start/learned_rows.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "policy/chat/chat_format.h"

namespace temper::trainer {
namespace {

class ExampleRows : public testing::Test {
 protected:
  const policy::Tokenizer tokenizer = policy::Tokenizer::train({"say a word, then another word"}, 400);
  const policy::ChatFormat format{tokenizer};
  std::vector<rollout::ChatExample> examples = {
      {.messages = {{"user", "say <|im_end|>"},
                    {"assistant", "a word", 0},
                    {"user", "more"},
                    {"assistant", "another", 0.5}},
       .place = "data.jsonl:4"},
      {.messages = {{"system", "then"}, {"user", "say"}, {"assistant", "word", 1}}, .place = "data.jsonl:6"}};

  std::vector<int32_t> joined(const std::vector<std::vector<int32_t>>& parts) const {
    std::vector<int32_t> ids;
    for (const auto& part : parts) ids.insert(ids.end(), part.begin(), part.end());
    return ids;
  }
};

TEST_F(ExampleRows, AnswersAndTheirStopTokensAreLearned) {
  const LearnedRows all = rows_of_examples(examples, tokenizer, 1000);
  const std::vector<int32_t> stop = {format.stop_id()};
  const auto first = format.first_turn("say <|im_end|>"), second = format.user_turn("more"),
             a = joined({tokenizer.encode("a word"), stop}), b = joined({tokenizer.encode("another"), stop});
  ASSERT_EQ(all.rows.size(), 2u);
  EXPECT_EQ(all.rows[0].ids, joined({first, a, second, b}));
  std::vector<double> weights(all.rows[0].ids.size());
  std::fill(weights.end() - std::ssize(b), weights.end(), 0.5);
  EXPECT_EQ(all.rows[0].weights(), weights);
  EXPECT_EQ(all.rows[1].ids, joined({{tokenizer.special("<|im_start|>")},
                                     tokenizer.encode("system\n"),
                                     tokenizer.encode("then"),
                                     stop,
                                     format.user_turn("say"),
                                     tokenizer.encode("word"),
                                     stop}));
  EXPECT_EQ(all.longest(), std::max(std::ssize(all.rows[0].ids), std::ssize(all.rows[1].ids)));
}

TEST_F(ExampleRows, APlainTextIsLearnedFromItsSecondTokenOn) {
  const auto rows_of = [&](const std::string& text) {
    return rows_of_examples({{.messages = {{rollout::kPlainText, text, 0.5}}, .place = "data.jsonl:1"}},
                            tokenizer, 1000)
        .rows;
  };
  const std::vector<int32_t> word = tokenizer.encode_written("say a word"), stop = {format.stop_id()};
  for (const std::string text : {"say a word", "say a word<|im_end|>"}) {
    const LearnedRow row = rows_of(text).at(0);
    EXPECT_EQ(row.ids, joined({word, stop})) << text;
    std::vector<double> weights(row.ids.size(), 0.5);
    weights[0] = 0;
    EXPECT_EQ(row.weights(), weights);
  }
  EXPECT_THROW(rows_of("<|im_end|>"), ConfigError);
}

TEST_F(ExampleRows, OneThatIsTooLongIsLeftOutAndCounted) {
  const LearnedRows all = rows_of_examples(examples, tokenizer, 1000);
  const int64_t second = std::ssize(all.rows[1].ids), longest = all.longest();
  EXPECT_EQ(rows_of_examples(examples, tokenizer, longest).left_out, 0);
  std::swap(examples[0], examples[1]);
  ASSERT_LT(second, longest);
  const LearnedRows less = rows_of_examples(examples, tokenizer, longest - 1);
  ASSERT_EQ(less.rows.size(), 1u);
  EXPECT_EQ(less.rows[0].ids, all.rows[1].ids);
  EXPECT_EQ(less.left_out, 1);
  EXPECT_EQ(less.too_long, fmt::format("data.jsonl:4: the conversation has {} tokens", longest));
}

TEST_F(ExampleRows, TheDigestIsOfAllThatIsLearned) {
  const std::string digest = rows_of_examples(examples, tokenizer, 1000).digest();
  EXPECT_EQ(rows_of_examples(examples, tokenizer, 500).digest(), digest);
  examples[0].messages[3].weight = 0.25;
  const std::string other = rows_of_examples(examples, tokenizer, 1000).digest();
  EXPECT_NE(other, digest);
  examples[0].messages[0].content = "say";
  EXPECT_NE(rows_of_examples(examples, tokenizer, 1000).digest(), other);
}

}  // namespace
}  // namespace temper::trainer
