#include "rollout/conversation.h"

#include <gtest/gtest.h>

#include "tests/policy/tokenizer_fixture.h"

namespace temper {
namespace {

struct Desk {
  Tokenizer tokenizer = code_tokenizer();
  ChatFormat format{tokenizer};
  Task task = [] {
    Task one;
    one.name = "double_it";
    one.language = "cpp";
    return one;
  }();
  Conversation conversation{format, tokenizer, task, 4, 2};

  std::string answer(const std::string& text, bool stopped = true) {
    auto ids = tokenizer.encode(text);
    if (stopped) ids.push_back(format.stop_id());
    std::vector<float> log_probs;
    for (size_t n = 0; n < ids.size(); ++n) log_probs.push_back(-0.25f * float(n + 1));
    return conversation.add_answer(ids, log_probs, stopped);
  }
  std::string text_of(Role role) const {
    std::string text;
    const Trajectory& t = conversation.trajectory();
    for (size_t n = 0; n < t.ids.size(); ++n)
      text += t.roles[n] == role ? tokenizer.token_text(t.ids[n]) : "";
    return text;
  }
};

TEST(Conversation, OpensWithThePrompt) {
  const Desk desk;
  const Trajectory& trajectory = desk.conversation.trajectory();
  EXPECT_EQ(trajectory.ids, desk.format.user_turn(desk.task.prompt()));
  EXPECT_EQ(trajectory.roles, std::vector<Role>(trajectory.ids.size(), Role::kPrompt));
  EXPECT_EQ(trajectory.log_probs.size(), trajectory.ids.size());
  EXPECT_EQ(trajectory.task, "double_it");
  EXPECT_EQ(trajectory.step, 4);
  EXPECT_EQ(trajectory.sample, 2);
}

TEST(Conversation, RolesPartTheAnswer) {
  for (const std::string& text : code_texts()) {
    Desk desk;
    const std::string code = desk.answer(text);
    const Trajectory& trajectory = desk.conversation.trajectory();
    const Turn& turn = trajectory.turns.at(0);
    ASSERT_EQ(turn.end, int32_t(trajectory.ids.size()));
    for (int32_t t = 0; t < turn.end; ++t) {
      EXPECT_EQ(is_response(trajectory.roles[size_t(t)]), t >= turn.begin);
      EXPECT_EQ(trajectory.log_probs[size_t(t)], t < turn.begin ? 0 : -0.25f * float(t - turn.begin + 1));
    }
    std::string plan = desk.text_of(Role::kPlan);
    const std::string block = desk.text_of(Role::kCode), stop = "<|im_end|>";
    ASSERT_TRUE(plan.ends_with(stop)) << plan;
    plan.resize(plan.size() - stop.size());
    EXPECT_EQ(plan + block, text);
    EXPECT_NE(block.find("```cpp\n" + code + "```"), std::string::npos);
    EXPECT_LT(block.size(), code.size() + 28);  // fences, and what a token on the fence brings along
  }
}

TEST(Conversation, TextBehindTheBlockIsPlan) {
  Desk desk;
  desk.answer("Plan.\n\n```cpp\nvoid kernel() {}\n```\n\nDone. Really, done.");
  const std::string plan = desk.text_of(Role::kPlan);
  EXPECT_TRUE(plan.starts_with("Plan")) << plan;
  EXPECT_TRUE(plan.ends_with("Really, done.<|im_end|>")) << plan;
  EXPECT_EQ(plan.find("kernel"), std::string::npos);
}

TEST(Conversation, NoCodeBlockIsAParseFailure) {
  Desk desk;
  EXPECT_EQ(desk.answer("I cannot."), "");
  const Turn& turn = desk.conversation.trajectory().turns.at(0);
  EXPECT_EQ(turn.verdict.kind, VerdictKind::kFailParse);
  EXPECT_EQ(turn.verdict.reason, "no_code_block");
  EXPECT_EQ(desk.text_of(Role::kCode), "");
  EXPECT_GT(desk.conversation.open_turn(), 0u);
  EXPECT_NE(desk.text_of(Role::kFeedback).find("FAIL_PARSE no code block"), std::string::npos);
}

TEST(Conversation, FeedbackFollowsAsTheUsersMessage) {
  for (bool stopped : {true, false}) {
    Desk desk;
    desk.answer("```cpp\nvoid kernel() {}\n```\n", stopped);
    Verdict verdict;
    verdict.kind = VerdictKind::kFailIncorrect;
    verdict.message = "FAIL_INCORRECT y[3] is 0";
    desk.conversation.add_verdict(verdict);
    const size_t before = desk.conversation.trajectory().ids.size();
    EXPECT_EQ(desk.conversation.open_turn(before + 5), 0u);
    EXPECT_EQ(desk.conversation.trajectory().ids.size(), before);
    const size_t appended = desk.conversation.open_turn();
    EXPECT_EQ(appended, desk.conversation.trajectory().ids.size() - before);
    const std::string close = stopped ? "" : "<|im_end|>";
    EXPECT_EQ(desk.text_of(Role::kFeedback),
              close + "\n<|im_start|>user\nFAIL_INCORRECT y[3] is 0<|im_end|>\n<|im_start|>assistant\n");
  }
}

}  // namespace
}  // namespace temper
