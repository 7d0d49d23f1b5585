#include "trainer/cold_start/collect.h"

#include <gtest/gtest.h>

#include "policy/chat/chat_format.h"
#include "rollout/conversation.h"
#include "tests/env/small_tasks.h"
#include "tests/trainer/fixtures.h"
#include "trainer/cold_start/learned_rows.h"

namespace temper::trainer {
namespace {

std::string code_answer(const std::string& code) { return "Plan.\n```cpp\n" + code + "\n```\n"; }

struct AnswerAndVerdict {
  std::string text;
  env::Verdict verdict;
};

class Collecting : public testing::Test {
 protected:
  const std::vector<env::Task> tasks = env::small_tasks({{"twice", "x + x"}, {"thrice", "x + x + x"}});
  const policy::Tokenizer tokenizer =
      policy::Tokenizer::train({tasks[0].prompt(), code_answer("y = x + x;")}, 400);
  const policy::ChatFormat format{tokenizer};
  CollectOptions options;

  rollout::Trajectory sampled(size_t task, const std::vector<AnswerAndVerdict>& answers) const {
    rollout::Conversation conversation(format, tokenizer, tasks[task], 0, 0, options.context);
    for (size_t i = 0; i < answers.size(); ++i) {
      if (i > 0) conversation.open_turn();
      auto ids = tokenizer.encode(answers[i].text);
      ids.push_back(format.stop_id());
      conversation.add_answer(ids, std::vector<float>(ids.size()), true);
      conversation.add_verdict(answers[i].verdict);
    }
    return conversation.take();
  }

  Collected select(const std::vector<rollout::Trajectory>& trajectories) const {
    return select_examples(trajectories, tasks, tokenizer, options, 9);
  }

  // The code of the last answers.
  static std::vector<std::string> last(const Collected& collected) {
    std::vector<std::string> texts;
    for (const rollout::ChatExample& example : collected.examples)
      texts.push_back(example.messages.back().content);
    return texts;
  }
};

TEST_F(Collecting, PassesEndWithTheFirstRightAnswer) {
  const env::Verdict wrong = failed();
  const Collected collected = select(
      {sampled(0,
               {{code_answer("a"), wrong}, {code_answer("b"), passed(0.5)}, {code_answer("c"), passed(3)}}),
       sampled(0, {{code_answer("d"), wrong}}), sampled(1, {{code_answer("e"), passed(2)}})});
  ASSERT_EQ(last(collected), (std::vector{code_answer("b"), code_answer("e")}));
  const rollout::ChatExample& first = collected.examples[0];
  ASSERT_EQ(first.messages.size(), 4u);
  EXPECT_EQ(first.messages[0].content, tasks[0].prompt());
  EXPECT_EQ(first.messages[1].content, code_answer("a"));
  EXPECT_EQ(first.messages[1].weight, 0);
  EXPECT_EQ(first.messages[2].content, rollout::feedback_text(wrong));
  EXPECT_EQ(first.messages[3].weight, 1);
  EXPECT_EQ(first.task, "twice");
  EXPECT_EQ(first.speedup, 0.5);
  EXPECT_EQ(first.seed, 9);
  EXPECT_EQ(collected.sampled, 3);
  EXPECT_EQ(collected.right, 2);
}

TEST_F(Collecting, ARightAnswerToAWeakProblemIsKeptOnlyIfAsked) {
  env::Verdict weak = passed(9);
  weak.problem = env::ProblemNotes{.weak = {"zeros"}};
  const std::vector<rollout::Trajectory> both = {sampled(0, {{code_answer("a"), weak}}),
                                                 sampled(1, {{code_answer("b"), passed(2)}})};
  EXPECT_EQ(last(select(both)), std::vector{code_answer("b")});
  options.weak = true;
  EXPECT_EQ(last(select(both)), (std::vector{code_answer("a"), code_answer("b")}));
}

TEST_F(Collecting, AnswersInFrontAreShownAsTheContextShowedThem) {
  options.context.rule = "drop_reasoning";
  const Collected collected =
      select({sampled(0, {{"Hm.\n" + code_answer("a"), failed()}, {code_answer("b"), passed(0.5)}})});
  ASSERT_EQ(collected.examples.size(), 1u);
  const std::string shown = collected.examples[0].messages.at(1).content;
  EXPECT_EQ(shown.find("Hm."), std::string::npos) << shown;
  EXPECT_NE(shown.find("```"), std::string::npos) << shown;
  options.context = {.rule = "best_of_history", .shown_turns = 1};
  options.keep = "fast";
  const Collected best = select({sampled(
      0, {{code_answer("a"), passed(2)}, {code_answer("b"), failed()}, {code_answer("c"), passed(3)}})});
  ASSERT_EQ(best.examples.size(), 1u);
  ASSERT_EQ(best.examples[0].messages.size(), 4u);
  EXPECT_EQ(best.examples[0].messages[1].content, code_answer("a"));
}

TEST_F(Collecting, FastOnesComeFastestFirst) {
  options = {.keep = "fast", .min_speedup = 1.5, .per_task = 2};
  const Collected collected =
      select({sampled(0, {{code_answer("a"), passed(1.5)}, {code_answer("b"), passed(1.7)}}),
              sampled(0, {{code_answer("c"), passed(1.4)}}),
              sampled(0, {{code_answer("d"), passed(2)}, {code_answer("e"), passed(1)}}),
              sampled(0, {{code_answer("f"), passed(1.6)}})});
  EXPECT_EQ(last(collected), (std::vector{code_answer("d"), code_answer("b")}));
  EXPECT_EQ(collected.right, 3);
  EXPECT_EQ(collected.over, 1);
}

TEST_F(Collecting, TheShortestIsOneATask) {
  options.keep = "shortest";
  const std::string brief = code_answer("y = x;"), longer = code_answer("y = x + x + x + x;");
  const Collected collected = select({sampled(0, {{longer, passed(9)}, {brief, passed(1)}}),
                                      sampled(0, {{code_answer("y = 2 * x * 1 * 1;"), passed(1)}}),
                                      sampled(1, {{longer, passed(1)}})});
  EXPECT_EQ(last(collected), (std::vector{brief, longer}));
}

TEST_F(Collecting, TheSameCodeIsKeptOnceATask) {
  const Collected collected = select({sampled(0, {{code_answer("y = x;"), passed(1)}}),
                                      sampled(0, {{code_answer("y  =\n x; // again"), passed(2)}}),
                                      sampled(1, {{code_answer("y = x;"), passed(1)}})});
  EXPECT_EQ(last(collected), (std::vector{code_answer("y = x;"), code_answer("y = x;")}));
  EXPECT_EQ(collected.again, 1);
}

TEST_F(Collecting, WhatJsonCannotHoldOrWasCutIsLeftOut) {
  rollout::Trajectory cut = sampled(0, {{code_answer("a"), passed(1)}});
  cut.turns[0].stopped = false;
  const Collected collected = select({cut, sampled(0, {{"\xff" + code_answer("b"), passed(1)}})});
  EXPECT_TRUE(collected.examples.empty());
  EXPECT_EQ(collected.not_text, 1);
  EXPECT_EQ(collected.right, 1);
}

rollout::PromptOptions own_prompt(const std::string& style) {
  using rollout::PromptTemplate;
  using rollout::TemplateKind;
  rollout::PromptOptions prompt{.style = style};
  prompt.system_text = PromptTemplate(TemplateKind::kSystem, "You write {language}.", "system");
  prompt.first_text = PromptTemplate(TemplateKind::kFirst, "Task {name}:\n{question}", "first");
  prompt.later_text = PromptTemplate(TemplateKind::kLater, "{question}\n{history}", "later");
  return prompt;
}

// What is learned from traces is what reinforcement learning asks later, token by token.
TEST_F(Collecting, ATraceIsAskedAsARolloutAsks) {
  env::Verdict wrong = env::verdict_of(env::VerdictKind::kFailCompile, "compile_error");
  traces::Trace trace{.task = "twice", .turns = {}};
  trace.turns.push_back({code_answer("a"), wrong});
  trace.turns.push_back({code_answer("y = x + x;"), passed(2)});
  trace.turns.push_back({code_answer("y = 2 * x;"), passed(3)});
  for (const rollout::PromptOptions& prompt :
       {rollout::PromptOptions{}, rollout::PromptOptions{.style = "sentences"}, own_prompt("short"),
        own_prompt("sentences")}) {
    rollout::ContextOptions context;
    context.prompt = prompt;
    const rollout::ChatExample example = trace_example(trace, tasks[0], prompt, 0.5);
    const rollout::Trajectory rolled = to_trajectory(trace, tasks[0], tokenizer, context);
    std::vector<int32_t> written = format.conversation(messages_of(example)).ids;
    EXPECT_EQ(written, rolled.segments.at(0).ids) << prompt.style;
  }
}

TEST_F(Collecting, WhatIsSampledIsKeptInTheWordsInWhichItWasAsked) {
  for (const char* style : {"short", "sentences"}) {
    options.context.prompt = own_prompt(style);
    const rollout::Trajectory trajectory =
        sampled(0, {{code_answer("a"), failed()}, {code_answer("b"), passed(0.5)}});
    const Collected collected = select({trajectory});
    ASSERT_EQ(collected.examples.size(), 1u);
    EXPECT_EQ(collected.examples[0].messages.at(0).content, "You write C++.");
    EXPECT_EQ(format.conversation(messages_of(collected.examples[0])).ids, trajectory.segments.at(0).ids);
  }
}

TEST(NormalisedCode, ForgetsLayoutAndCommentsAlone) {
  EXPECT_EQ(normalised_code("int  a = 1; // one\n/* two */ int b;"), "int a=1;int b;");
  EXPECT_EQ(normalised_code("#define A  1\nint a;\n #if A\nint b;\n#endif"),
            "#define A 1\nint a;\n#if A\nint b;\n#endif");
  EXPECT_EQ(normalised_code("f(\"a  // b\", '\"', \"\\\"  /*\");"), "f(\"a  // b\",'\"',\"\\\"  /*\");");
  EXPECT_NE(normalised_code("int a b"), normalised_code("int ab"));
  EXPECT_EQ(normalised_code("a /* open"), "a");
  EXPECT_EQ(normalised_code("\"open"), "\"open");
}

}  // namespace
}  // namespace temper::trainer
