// configs/quickstart_cuda.yaml and quickstart_triton.yaml beside what traces of their tasks are like.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "policy/text/tokenizer.h"
#include "rollout/traces/recipe.h"
#include "rollout/traces/traces.h"
#include "trainer/config/config.h"

namespace temper::trainer {

using env::Task;

namespace {

class QuickstartGpu : public testing::TestWithParam<const char*> {};

RunConfig config(const std::string& language) {
  return read_config(TEMPER_SOURCE_DIR "/configs/quickstart_" + language + ".yaml", {"model.device=cpu"});
}

std::vector<Task> its_tasks(const std::string& language) {
  RunConfig its = config(language);
  its.tasks.path = TEMPER_SOURCE_DIR "/env/tasks";
  return load_tasks(its);
}

// Of those that are timed at one shape: several make prompts and verdicts longer.
TEST_P(QuickstartGpu, AsksWhatTracesAreWrittenFor) {
  std::set<std::string> asked, written;
  for (const Task& task : its_tasks(GetParam())) {
    asked.insert(task.name);
    EXPECT_EQ(task.language, GetParam());
  }
  const auto tasks = env::load_tasks(std::filesystem::path(TEMPER_SOURCE_DIR "/env/tasks/cuda"));
  for (const Task& task : env::tasks_in(env::find_language(GetParam()), tasks))
    if (task.timed_count() == 1 && !traces::write_recipe(task, 1).variants.empty()) written.insert(task.name);
  EXPECT_EQ(asked, written);
}

TEST_P(QuickstartGpu, AnswersFitItsLimits) {
  const RunConfig its = config(GetParam());
  std::vector<std::string> prompts, answers;
  for (const Task& task : traces::with_trace_tasks(its.traces, its_tasks(GetParam()), 1)) {
    if (task.split == "heldout") continue;
    prompts.push_back(task.prompt());
    for (const traces::Variant& variant : traces::write_recipe(task, 1).variants)
      answers.push_back(variant.answer);
  }
  std::vector<std::string> texts = prompts;
  texts.insert(texts.end(), answers.begin(), answers.end());
  const policy::Tokenizer tokenizer = policy::Tokenizer::train(texts, its.model.shape.vocab_size);
  const auto lengths = [&](const std::vector<std::string>& of) {
    std::vector<int64_t> all;
    for (const std::string& text : of) all.push_back(int64_t(tokenizer.encode(text).size()));
    std::sort(all.begin(), all.end());
    return all;
  };
  const auto answer = lengths(answers), prompt = lengths(prompts);
  std::printf("%zu answers of %ld to %ld tokens, half of them up to %ld; prompts up to %ld\n", answer.size(),
              long(answer.front()), long(answer.back()), long(answer[answer.size() / 2]),
              long(prompt.back()));
  EXPECT_LE(answer.back() + 2, its.rollout.max_response_tokens);
  const int64_t feedback = 96;
  EXPECT_LE(prompt.back() + its.rollout.turns * (answer.back() + feedback), its.rollout.max_context_tokens);
}

INSTANTIATE_TEST_SUITE_P(Languages, QuickstartGpu, testing::Values("cuda", "triton"));

}  // namespace
}  // namespace temper::trainer
