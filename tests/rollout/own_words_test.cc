// A user's own words in conversations (rollout/prompt/prompt.h).

#include <gtest/gtest.h>

#include "rollout/conversation.h"
#include "tests/policy/text/tokenizer_fixture.h"

namespace temper::rollout {

using env::Verdict;
using env::VerdictKind;

namespace {

struct OwnDesk {
  policy::Tokenizer tokenizer = policy::code_tokenizer();
  policy::ChatFormat format{tokenizer};
  env::Task task = [] {
    env::Task one;
    one.name = "double_it";
    one.language = "cpp";
    return one;
  }();
  ContextOptions context;

  OwnDesk() {
    context.prompt.system_text = PromptTemplate(TemplateKind::kSystem, "Speak {language}.", "system");
    context.prompt.later_text =
        PromptTemplate(TemplateKind::kLater, "turn {turn}|{history}|{verdict}", "later");
  }
  // What stands in the last row, by role, after answers with these verdicts and the opening of a further turn.
  std::string text(Role role, const std::vector<Verdict>& verdicts, const FeedbackLimit& limit = {},
                   size_t max = 4096) {
    Conversation conversation(format, tokenizer, task, 0, 0, context);
    for (const Verdict& verdict : verdicts) {
      auto ids = tokenizer.encode("```cpp\nint a;\n```\n");
      ids.push_back(format.stop_id());
      conversation.add_answer(ids, std::vector<float>(ids.size()), true);
      conversation.add_verdict(verdict);
      EXPECT_TRUE(conversation.open_turn(max, limit));
    }
    const Segment& row = conversation.trajectory().segments.back();
    std::string all;
    for (size_t n = 0; n < row.ids.size(); ++n)
      if (row.roles[n] == role) all += tokenizer.token_text(row.ids[n]);
    return all;
  }
};

TEST(OwnWords, TheSystemsMessageStandsInEveryRow) {
  OwnDesk desk;
  const std::string opening = "<|im_start|>system\nSpeak C++.<|im_end|>\n<|im_start|>user\n";
  const Verdict wrong = env::verdict_of(VerdictKind::kFailCompile, "compile_error");
  for (const char* rule : {"append", "drop_reasoning", "best_of_history"}) {
    desk.context.rule = rule;
    EXPECT_TRUE(desk.text(Role::kPrompt, {}).starts_with(opening)) << desk.text(Role::kPrompt, {});
    EXPECT_TRUE(desk.text(Role::kPrompt, {wrong}).starts_with(opening)) << rule;
  }
}

TEST(OwnWords, EachTurnIsToldInThemWithItsHistory) {
  OwnDesk desk;
  const Verdict one = env::verdict_of(VerdictKind::kFailCompile, "compile_error"),
                two = env::verdict_of(VerdictKind::kFailTimeout, "timeout");
  const std::string first = feedback_text(one), second = feedback_text(two);
  for (const char* rule : {"append", "drop_reasoning", "best_of_history"}) {
    desk.context.rule = rule;
    const std::string text = desk.text(Role::kFeedback, {one, two});
    EXPECT_NE(text.find("turn 2|answer 1: " + first + "|" + first), std::string::npos) << text;
    EXPECT_NE(text.find("turn 3|answer 1: " + first + "\nanswer 2: " + second + "|" + second),
              std::string::npos)
        << rule << text;
  }
}

TEST(OwnWords, DetailsAreCutUntilTheWholeMessageFits) {
  OwnDesk desk;
  desk.context.prompt.later_text =
      PromptTemplate(TemplateKind::kLater, std::string(300, 'w') + " {verdict}", "later");
  Verdict long_one = env::verdict_of(VerdictKind::kFailCompile, "compile_error");
  for (int i = 0; i < 200; ++i) long_one.details += "line " + std::to_string(i) + ": error\n";
  const size_t before = desk.tokenizer.encode(desk.text(Role::kPrompt, {})).size();
  const std::string text = desk.text(Role::kFeedback, {long_one}, {.bytes = 16 << 10}, before + 900);
  EXPECT_NE(text.find(std::string(300, 'w') + " line 0"), std::string::npos) << text;
  EXPECT_NE(text.find("bytes"), std::string::npos);
}

}  // namespace
}  // namespace temper::rollout
