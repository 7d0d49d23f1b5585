#include "rollout/prompt/prompt.h"

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

env::Task own_task(const std::string& language, const std::string& more = "") {
  return env::parse_tasks("name: pick\nlanguage: " + language +
                              "\nreference: \"x[idx.long()] + {'a': 1}['a']\"\ninputs: {x: [n, m], idx: "
                              "{shape: [k], type: i32, "
                              "below: n}}\noutputs: {y: [k, m]}\ncheck: [{n: 3, m: 5, k: 2}]\ntimed: " +
                              (more.empty() ? "{n: 64, m: 64, k: 64}" : more) + "\n",
                          "prompt_test.cc")
      .front();
}

TEST(Sentences, SayWhatToDoInEachLanguage) {
  for (const auto& [language, title] :
       {std::pair("cpp", "C++"), std::pair("cuda", "CUDA C++"), std::pair("triton", "Triton")}) {
    const env::Task task = own_task(language);
    const std::string text = task_prompt({.style = "sentences"}, task);
    EXPECT_THAT(text, HasSubstr("Write " + std::string(title) + " code that computes the same")) << text;
    EXPECT_THAT(
        text,
        HasSubstr(
            "# x: float32 [n, m]\n# idx: int32 [k], at least 0 and below n\n# returns y: float32 [k, m]\n"));
    EXPECT_THAT(text, HasSubstr("x[idx.long()] + {'a': 1}['a']\n```\n"));
    EXPECT_THAT(text, HasSubstr("```" + std::string(language) + "\n" + task.signature() + "\n```\n"));
    EXPECT_THAT(text, HasSubstr("exactly one fenced code block"));
    EXPECT_THAT(text, Not(HasSubstr("It is timed at")));
    EXPECT_EQ(task_prompt({.style = "short"}, task), task.prompt());
    EXPECT_EQ(task_prompt({}, task), task.prompt());
  }
  EXPECT_THAT(
      task_prompt({.style = "sentences"}, own_task("cpp", "[{n: 64, m: 32, k: 8}, {n: 4, m: 1000, k: 9}]")),
      HasSubstr("It is timed at these sizes, which count alike: k 8, m 32, n 64; k 9, m 1000, n 4."));
}

TEST(Sentences, AProblemInPyTorchIsNeverAskedWithoutThem) {
  EXPECT_EQ(task_prompt({.style = "sentences"}, module_task()),
            task_prompt({.rule = "zero_shot"}, module_task()));
  EXPECT_EQ(task_prompt({.rule = "kevin", .style = "sentences"}, module_task()),
            task_prompt({.rule = "kevin"}, module_task()));
}

std::string told(const PromptOptions& options, const env::Task& task, const env::Verdict& verdict) {
  const env::Verdict* const history[] = {&verdict};
  return VerdictPrompt(options, task).text(history);
}

TEST(Sentences, TellEveryVerdictAndWhatIsWantedNext) {
  for (int kind = 0; kind <= int(env::VerdictKind::kInfra); ++kind) {
    env::Verdict verdict = env::verdict_of(env::VerdictKind(kind), "timeout");
    verdict.speedup = 1.8;
    const std::string text = told({.style = "sentences"}, own_task("cuda"), verdict);
    EXPECT_THAT(text, testing::AnyOf(testing::StartsWith("Your "), testing::StartsWith("What your code ")));
    EXPECT_THAT(text, HasSubstr(feedback_text(verdict)));
    EXPECT_THAT(text, HasSubstr(verdict.pass() ? "Write a version that is faster." : "Correct it"));
    EXPECT_THAT(text, HasSubstr("in exactly one fenced code block that begins with ```cuda."));
    EXPECT_EQ(told({}, own_task("cuda"), verdict), feedback_text(verdict));
  }
}

TEST(OwnTemplates, AskOwnTasksAndProblemsInPyTorch) {
  PromptOptions options;
  options.first_text = PromptTemplate(
      TemplateKind::kFirst, "{name} in {language} ({precision}):\n{problem}\n{entry_point}", "first.txt");
  EXPECT_EQ(task_prompt(options, module_task()),
            "level1_1_a in CUDA C++ (bfloat16):\nclass Model:\n    secret = 1\nModelNew");
  options.kernels = "triton";
  EXPECT_THAT(task_prompt(options, module_task()), HasSubstr(" in Triton "));
  const std::string text = task_prompt(options, own_task("cpp"));
  EXPECT_THAT(text, testing::StartsWith("pick in C++ (float32):\n# x: float32 [n, m]\n"));
  EXPECT_THAT(text, HasSubstr("{'a': 1}['a']"));
  EXPECT_THAT(text, testing::EndsWith("\nkernel"));
}

TEST(OwnTemplates, TheQuestionIsWhatWouldBeAskedWithoutThem) {
  PromptOptions options{.rule = "kevin", .style = "sentences"};
  const PromptOptions without = options;
  options.first_text = PromptTemplate(TemplateKind::kFirst, "[{question}]", "first.txt");
  options.later_text = PromptTemplate(TemplateKind::kLater, "[{question}]", "later.txt");
  for (const env::Task& task : {module_task(), own_task("triton")}) {
    EXPECT_EQ(task_prompt(options, task), "[" + task_prompt(without, task) + "]");
    EXPECT_EQ(later_task_prompt(options, task), "[" + later_task_prompt(without, task) + "]");
    const env::Verdict verdict = env::verdict_of(env::VerdictKind::kFailTimeout, "timeout");
    EXPECT_EQ(told(options, task, verdict), "[" + told(without, task, verdict) + "]");
  }
}

}  // namespace
}  // namespace temper::rollout
