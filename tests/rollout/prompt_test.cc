#include "rollout/prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rollout/conversation.h"
#include "tests/policy/text/tokenizer_fixture.h"

namespace temper::rollout {

using testing::HasSubstr;
using testing::Not;

namespace {

env::Task module_task() {
  env::Task task;
  task.name = "level1_1_a";
  task.language = "kernelbench";
  task.reference = "class Model:\n    secret = 1\n";
  task.module = env::ModuleProblem{.level = 1, .id = 1, .file = "1_A.py", .precision = "bf16"};
  return task;
}

size_t fences_in(const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find("```python\n"); at != std::string::npos; at = text.find("```python\n", at + 1))
    ++count;
  return count;
}

TEST(Prompt, PlainIsTheSourceAndWhatToDefine) {
  EXPECT_EQ(task_prompt({}, module_task()), "class Model:\n    secret = 1\n\nclass ModelNew(nn.Module):");
}

TEST(Prompt, EveryRuleShowsTheModuleThePrecisionAndWhatIsAsked) {
  for (const char* rule : {"zero_shot", "one_shot", "drkernel", "kevin"}) {
    const std::string text = task_prompt({.rule = rule}, module_task());
    EXPECT_THAT(text, HasSubstr("```python\nclass Model:\n    secret = 1\n```\n")) << rule;
    EXPECT_THAT(text, HasSubstr("torch.bfloat16"));
    EXPECT_THAT(text, HasSubstr("`ModelNew` takes the arguments of `Model`"));
    EXPECT_EQ(fences_in(text), rule == std::string("zero_shot") ? 1 : 3) << rule;
  }
}

TEST(Prompt, KernelsAreInCudaUnlessTheRuleOrTheOptionSaysTriton) {
  for (const char* rule : {"one_shot", "kevin"}) {
    EXPECT_THAT(task_prompt({.rule = rule}, module_task()), HasSubstr("load_inline("));
    EXPECT_THAT(task_prompt({.rule = rule, .kernels = "triton"}, module_task()), HasSubstr("@triton.jit"));
  }
  EXPECT_THAT(task_prompt({.rule = "drkernel"}, module_task()), HasSubstr("@triton.jit"));
  EXPECT_THAT(task_prompt({.rule = "drkernel", .kernels = "cuda"}, module_task()), Not(HasSubstr("triton")));
}

TEST(Prompt, OtherTasksAreAskedAsTheyAre) {
  env::Task task;
  task.name = "double_it";
  task.language = "cpp";
  EXPECT_EQ(task_prompt({.rule = "one_shot"}, task), task.prompt());
  EXPECT_EQ(later_task_prompt({.rule = "kevin"}, task), task.prompt());
}

// The prompt of the second turn's row.
std::string second_prompt(const std::string& prompt_rule, const std::string& context_rule) {
  const policy::Tokenizer tokenizer = policy::code_tokenizer();
  const policy::ChatFormat format{tokenizer};
  ContextOptions context{.rule = context_rule};
  context.prompt.rule = prompt_rule;
  Conversation conversation(format, tokenizer, module_task(), 0, 0, context);
  auto ids = tokenizer.encode("I think.\n```python\nclass ModelNew: pass\n```\n");
  ids.push_back(format.stop_id());
  EXPECT_NE(conversation.add_answer(ids, std::vector<float>(ids.size(), -1), true), "");
  conversation.add_verdict(env::verdict_of(env::VerdictKind::kFailIncorrect, "tolerance"));
  EXPECT_TRUE(conversation.open_turn());
  const Segment& row = conversation.trajectory().segments.back();
  std::string text;
  for (size_t i = 0; i < row.ids.size(); ++i)
    if (row.roles[i] == Role::kPrompt) text += tokenizer.token_text(row.ids[i]);
  EXPECT_EQ(conversation.trajectory().segments.size(), context_rule == "append" ? 1 : 2);
  return text;
}

TEST(Prompt, KevinsExampleStandsInTheFirstRowAlone) {
  EXPECT_EQ(fences_in(second_prompt("kevin", "append")), 3);
  EXPECT_EQ(fences_in(second_prompt("kevin", "drop_reasoning")), 1);
  EXPECT_EQ(fences_in(second_prompt("kevin", "best_of_history")), 1);
  EXPECT_EQ(fences_in(second_prompt("one_shot", "drop_reasoning")), 3);
  EXPECT_THAT(second_prompt("kevin", "drop_reasoning"), HasSubstr("secret = 1"));
}

}  // namespace
}  // namespace temper::rollout
