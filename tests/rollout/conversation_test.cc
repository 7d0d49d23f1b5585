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

TEST(Conversation, ReasoningIsPlan) {
  Desk desk;
  const std::string thoughts = "<think>\n```cpp\nint draft;\n```\n</think>\n\n";
  EXPECT_EQ(desk.answer(thoughts + "So.\n\n```cpp\nvoid kernel() {}\n```\n"), "void kernel() {}\n");
  EXPECT_NE(desk.text_of(Role::kPlan).find("int draft;"), std::string::npos);
  EXPECT_EQ(desk.text_of(Role::kCode).find("draft"), std::string::npos);
  EXPECT_NE(desk.text_of(Role::kCode).find("void kernel() {}"), std::string::npos);
}

TEST(Conversation, ReasoningThatWasCutOffIsAParseFailure) {
  Desk desk;
  EXPECT_EQ(desk.answer("<think>\n```cpp\nint draft;\n```\n", false), "");
  EXPECT_EQ(desk.conversation.trajectory().turns.at(0).verdict.reason, "unclosed_reasoning");
  EXPECT_EQ(desk.text_of(Role::kCode), "");
}

Verdict with_details(size_t lines) {
  Verdict verdict;
  verdict.kind = VerdictKind::kFailCompile;
  verdict.message = "FAIL_COMPILE line 0: error";
  verdict.details = "FAIL_COMPILE does not compile";
  for (size_t i = 0; i < lines; ++i) verdict.details += "\nline " + std::to_string(i) + ": error";
  return verdict;
}

TEST(Conversation, FeedbackCarriesAsManyDetailsAsAskedFor) {
  const Verdict verdict = with_details(100);
  EXPECT_EQ(feedback_text(verdict), verdict.message);
  EXPECT_EQ(feedback_text(verdict, 400), verdict.message);
  EXPECT_EQ(feedback_text(verdict, 1 << 20), verdict.details);
  const std::string some = feedback_text(verdict, 600);
  EXPECT_LE(some.size(), 600u);
  EXPECT_TRUE(some.starts_with("FAIL_COMPILE does not compile\nline 0: error\n")) << some;
  EXPECT_TRUE(some.ends_with("\nline 99: error")) << some;
  EXPECT_NE(some.find(" bytes left out]\n"), std::string::npos) << some;
  EXPECT_EQ(feedback_text({.kind = VerdictKind::kFailRuntime, .reason = "exit", .message = ""}, 4000),
            "FAIL_RUNTIME ended the process");
}

TEST(Conversation, DetailsAreNoLongerThanTheRowHasRoomFor) {
  const auto opened = [](size_t room, size_t row_room) {
    Desk desk;
    desk.answer("```cpp\nvoid kernel() {}\n```\n");
    desk.conversation.add_verdict(with_details(100));
    const size_t before = desk.conversation.trajectory().ids.size();
    const size_t ids = desk.conversation.open_turn(before + room, {4000, before + row_room});
    EXPECT_EQ(desk.conversation.trajectory().ids.size(), before + ids);
    return std::pair(ids, desk.text_of(Role::kFeedback));
  };
  const auto [all, whole] = opened(100'000, 100'000);
  EXPECT_NE(whole.find("line 50: error"), std::string::npos);
  for (const auto& [room, row_room] :
       {std::pair(all - 1, all), std::pair(all, all / 2), std::pair(all / 2, all)}) {
    const auto [ids, text] = opened(room, row_room);
    EXPECT_LE(ids, std::min(room, row_room));
    EXPECT_GT(ids, std::min(room, row_room) / 3);
    EXPECT_NE(text.find("bytes left out]"), std::string::npos) << text;
    EXPECT_NE(text.find("line 99: error"), std::string::npos) << text;
  }
  const auto [least, message] = opened(all, 0);
  EXPECT_NE(message.find("user\nFAIL_COMPILE line 0: error<"), std::string::npos) << message;
  EXPECT_GT(least, 0u);
  EXPECT_EQ(opened(least, 0).first, least);
  EXPECT_EQ(opened(least - 1, 100'000).first, 0u);
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
