#include "rollout/conversation.h"

#include <gtest/gtest.h>

#include "tests/policy/text/tokenizer_fixture.h"

namespace temper::rollout {

using env::Verdict;
using env::VerdictKind;

namespace {

struct Desk {
  policy::Tokenizer tokenizer = policy::code_tokenizer();
  policy::ChatFormat format{tokenizer};
  env::Task task = [] {
    env::Task one;
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
    const Segment& row = conversation.trajectory().segments.back();
    for (size_t n = size_t(row.prefix); n < row.ids.size(); ++n)
      text += row.roles[n] == role ? tokenizer.token_text(row.ids[n]) : "";
    return text;
  }
};

TEST(Conversation, OpensWithThePrompt) {
  const Desk desk;
  const Trajectory& trajectory = desk.conversation.trajectory();
  const Segment& row = trajectory.segments.at(0);
  EXPECT_EQ(row.ids, desk.format.first_turn(desk.task.prompt()));
  EXPECT_EQ(row.roles, std::vector<Role>(row.ids.size(), Role::kPrompt));
  EXPECT_EQ(row.log_probs.size(), row.ids.size());
  EXPECT_EQ(trajectory.task, "double_it");
  EXPECT_EQ(trajectory.step, 4);
  EXPECT_EQ(trajectory.sample, 2);
}

TEST(Conversation, RolesPartTheAnswer) {
  for (const std::string& text : policy::code_texts()) {
    Desk desk;
    const std::string code = desk.answer(text);
    const Trajectory& trajectory = desk.conversation.trajectory();
    const Turn& turn = trajectory.turns.at(0);
    const Segment& row = trajectory.row_of(turn);
    ASSERT_EQ(turn.end, int32_t(row.ids.size()));
    for (int32_t t = 0; t < turn.end; ++t) {
      EXPECT_EQ(is_response(row.roles[size_t(t)]), t >= turn.begin);
      EXPECT_EQ(row.log_probs[size_t(t)], t < turn.begin ? 0 : -0.25f * float(t - turn.begin + 1));
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
  EXPECT_TRUE(desk.conversation.open_turn());
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
  const auto opened = [](size_t room, int64_t answers) {
    Desk desk;
    desk.answer("```cpp\nvoid kernel() {}\n```\n");
    desk.conversation.add_verdict(with_details(100));
    const size_t before = desk.conversation.row().size();
    const bool fits = desk.conversation.open_turn(before + room, {4000, answers});
    const size_t ids = desk.conversation.row().size() - before;
    EXPECT_EQ(fits, ids > 0);
    return std::pair(ids, desk.text_of(Role::kFeedback));
  };
  const auto [all, whole] = opened(100'000, 1);
  EXPECT_NE(whole.find("line 50: error"), std::string::npos);
  for (const auto& [room, answers] : {std::pair(all - 1, 1), std::pair(all, 2), std::pair(all / 2, 1)}) {
    const auto [ids, text] = opened(room, answers);
    EXPECT_LE(ids, room / size_t(answers));
    EXPECT_GT(ids, room / size_t(answers) / 3);
    EXPECT_NE(text.find("bytes left out]"), std::string::npos) << text;
    EXPECT_NE(text.find("line 99: error"), std::string::npos) << text;
  }
  const auto [least, message] = opened(all, 1 << 20);
  EXPECT_NE(message.find("user\nFAIL_COMPILE line 0: error<"), std::string::npos) << message;
  EXPECT_GT(least, 0u);
  EXPECT_EQ(opened(least, 1 << 20).first, least);
  EXPECT_EQ(opened(least - 1, 1).first, 0u);
}

TEST(Conversation, FeedbackFollowsAsTheUsersMessage) {
  for (bool stopped : {true, false}) {
    Desk desk;
    desk.answer("```cpp\nvoid kernel() {}\n```\n", stopped);
    Verdict verdict;
    verdict.kind = VerdictKind::kFailIncorrect;
    verdict.message = "FAIL_INCORRECT y[3] is 0";
    desk.conversation.add_verdict(verdict);
    const size_t before = desk.conversation.row().size();
    EXPECT_FALSE(desk.conversation.open_turn(before + 5));
    EXPECT_EQ(desk.conversation.row().size(), before);
    EXPECT_TRUE(desk.conversation.open_turn());
    EXPECT_EQ(desk.conversation.trajectory().segments.size(), 1u);
    const std::string close = stopped ? "" : "<|im_end|>";
    EXPECT_EQ(desk.text_of(Role::kFeedback),
              close + "\n<|im_start|>user\nFAIL_INCORRECT y[3] is 0<|im_end|>\n<|im_start|>assistant\n");
  }
}

constexpr const char* kFirst = "Let me think.\n```cpp\nvoid first() {}\n```\nDone.\n";
constexpr const char* kSecond = "Again.\n```cpp\nvoid second() {}\n```\n";

Verdict verdict_with(VerdictKind kind, const std::string& message, double speedup = 0) {
  Verdict verdict;
  verdict.kind = kind;
  verdict.message = message;
  verdict.speedup = speedup;
  return verdict;
}

// The text of the row that the third answer would be written in.
std::string third_row(const ContextOptions& context, Trajectory* made = nullptr) {
  Desk desk;
  desk.conversation = Conversation(desk.format, desk.tokenizer, desk.task, 0, 0, context);
  size_t turn = 0;
  for (const char* text : {kFirst, kSecond}) {
    EXPECT_NE(desk.answer(text), "");
    desk.conversation.add_verdict(turn++ == 0
                                      ? verdict_with(VerdictKind::kPass, "PASS speedup 2.00", 2)
                                      : verdict_with(VerdictKind::kFailIncorrect, "FAIL_INCORRECT y[3]"));
    if (context.summarises()) {
      desk.conversation.request_summary();
      auto summary = desk.tokenizer.encode("I tried it.");
      summary.push_back(desk.format.stop_id());
      desk.conversation.add_summary(summary, std::vector<float>(summary.size(), -0.5f));
    }
    EXPECT_TRUE(desk.conversation.open_turn());
  }
  const std::vector<int32_t>& row = desk.conversation.row();
  const auto prompt = ptrdiff_t(desk.format.first_turn(desk.task.prompt()).size());
  std::string text;
  for (auto id = row.begin() + prompt; id != row.end(); ++id) text += desk.tokenizer.token_text(*id);
  if (made) *made = desk.conversation.take();
  return text;
}

const std::string kToUser = "<|im_end|>\n<|im_start|>user\n",
                  kToAssistant = "<|im_end|>\n<|im_start|>assistant\n";

TEST(Context, AppendShowsEverythingInOneRow) {
  Trajectory made;
  EXPECT_EQ(third_row({}, &made), kFirst + kToUser + "PASS speedup 2.00" + kToAssistant + kSecond + kToUser +
                                      "FAIL_INCORRECT y[3]" + kToAssistant);
  EXPECT_EQ(made.segments.size(), 1u);
}

TEST(Context, DropReasoningShowsCodeAndFeedback) {
  Trajectory made;
  EXPECT_EQ(third_row({.rule = "drop_reasoning"}, &made),
            "```cpp\nvoid first() {}\n```\n" + kToUser + "PASS speedup 2.00" + kToAssistant +
                "```cpp\nvoid second() {}\n```\n" + kToUser + "FAIL_INCORRECT y[3]" + kToAssistant);
  ASSERT_EQ(made.segments.size(), 3u);
  for (int32_t k = 1; k < 3; ++k) {
    const Segment& row = made.segments[size_t(k)];
    EXPECT_EQ(row.parent, k - 1);
    EXPECT_EQ(row.prefix, made.turns[size_t(k) - 1].begin);
    EXPECT_TRUE(
        std::equal(row.ids.begin(), row.ids.begin() + row.prefix, made.segments[size_t(k) - 1].ids.begin()));
  }
  EXPECT_EQ(made.turns[1].segment, 1);
}

TEST(Context, SummariesStandInForReasoning) {
  Trajectory made;
  const ContextOptions context{.rule = "summaries", .summary_tokens = 30};
  EXPECT_EQ(third_row(context, &made), "```cpp\nvoid first() {}\n```\n\nI tried it." + kToUser +
                                           "PASS speedup 2.00" + kToAssistant +
                                           "```cpp\nvoid second() {}\n```\n\nI tried it." + kToUser +
                                           "FAIL_INCORRECT y[3]" + kToAssistant);
  const Turn& turn = made.turns.at(0);
  const Segment& row = made.row_of(turn);
  ASSERT_EQ(row.ids.size(), size_t(turn.summary.end));
  for (int32_t t = turn.end; t < turn.summary.end; ++t)
    EXPECT_EQ(row.roles[size_t(t)], t < turn.summary.begin ? Role::kRequest : Role::kSummary);
  EXPECT_EQ(row.log_probs.back(), -0.5f);
}

TEST(Context, BestOfHistoryShowsTheBestWholeAnswers) {
  Trajectory made;
  EXPECT_EQ(third_row({.rule = "best_of_history", .shown_turns = 1}, &made),
            kFirst + kToUser + "PASS speedup 2.00" + kToAssistant);
  EXPECT_EQ(made.segments.at(2).parent, 0);
  EXPECT_EQ(third_row({.rule = "best_of_history", .shown_turns = 2}), third_row({}));
}

// What could not be judged is shown last of all.
TEST(Context, BestOfHistoryIsTheRightOnesThenTheWrongOnes) {
  Trajectory trajectory;
  for (const auto& [kind, speedup] :
       std::vector<std::pair<VerdictKind, double>>{{VerdictKind::kInfra, 0},
                                                   {VerdictKind::kFailIncorrect, 0},
                                                   {VerdictKind::kPass, 0.5},
                                                   {VerdictKind::kHack, 90},
                                                   {VerdictKind::kPass, 2}})
    trajectory.turns.push_back({.verdict = verdict_with(kind, "", speedup)});
  const auto shown = [&](int64_t count, size_t turns) {
    return shown_turns({.rule = "best_of_history", .shown_turns = count}, trajectory, turns);
  };
  EXPECT_EQ(shown(1, 2), std::vector<size_t>{1});
  EXPECT_EQ(shown(1, 4), std::vector<size_t>{2});
  EXPECT_EQ(shown(1, 5), std::vector<size_t>{4});
  EXPECT_EQ(shown(2, 5), (std::vector<size_t>{2, 4}));
  EXPECT_EQ(shown(3, 5), (std::vector<size_t>{1, 2, 4}));
  EXPECT_EQ(shown(4, 5), (std::vector<size_t>{1, 2, 3, 4}));
}

TEST(Context, BestOfHistoryShowsFewerWhereNotAllFit) {
  const ContextOptions context{.rule = "best_of_history", .shown_turns = 2};
  Desk desk;
  desk.conversation = Conversation(desk.format, desk.tokenizer, desk.task, 0, 0, context);
  desk.answer(kFirst);
  desk.conversation.add_verdict(verdict_with(VerdictKind::kPass, "PASS speedup 2.00", 2));
  ASSERT_TRUE(desk.conversation.open_turn());
  const size_t one = desk.conversation.row().size();
  desk.answer(kSecond);
  desk.conversation.add_verdict(verdict_with(VerdictKind::kFailIncorrect, "FAIL"));
  EXPECT_FALSE(desk.conversation.open_turn(one - 1));
  EXPECT_TRUE(desk.conversation.open_turn(one));
  EXPECT_EQ(desk.conversation.row().size(), one);
}

// Models write around their code what they like; the last block is the answer, whatever its fence says.
TEST(Conversation, ReadsTheCodeOfAnswersAsModelsWriteThem) {
  const std::string code = "int kernel() {\n  return 1;\n}\n";
  Desk desk;
  const auto read = [&](const std::string& text) {
    desk.conversation = Conversation(desk.format, desk.tokenizer, desk.task, 0, 0);
    return desk.answer(text);
  };
  for (const std::string word : {"cpp", "cuda", "c++", "python", "triton", "C++ title=\"a.cc\"", ""})
    for (const std::string before :
         {"", "Here it is:\n\n", "<think>\n```cpp\nint draft;\n```\n</think>\n\n",
          "```text\nfirst\n```\nThen:\n", "1. Step\n\n   ~~~python\n   x\n   ~~~\n"})
      for (const std::string after : {"", "\nIt is fast, since `kernel` does little.\n"}) {
        EXPECT_EQ(read(before + "```" + word + "\n" + code + "```\n" + after), code) << word << before;
      }
  EXPECT_EQ(read("```cpp\nint open;\n"), "");
  EXPECT_EQ(desk.conversation.trajectory().turns.back().verdict.reason, "unclosed_code_block");
}

}  // namespace
}  // namespace temper::rollout
