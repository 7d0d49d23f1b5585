// The answers of Triton traces without a GPU: under Triton's interpreter, and planned, where Python has torch and triton.
// All tasks and variants: TEMPER_ALL_TRACES=1 rollout_tests --gtest_filter='TritonTrace*'; else a sample.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "env/task/task_json.h"
#include "env/verdict/answer.h"
#include "rollout/traces/generated.h"
#include "rollout/traces/kernel.h"
#include "rollout/traces/program.h"
#include "rollout/traces/recipe.h"
#include "rollout/traces/styles.h"
#include "tests/env/triton_boxes.h"

namespace temper::traces {

using env::Task;

namespace {

using Kind = Variant::Kind;

bool every_one_wanted() { return std::getenv("TEMPER_ALL_TRACES") != nullptr; }

const std::vector<Task>& gpu_tasks() {
  static const auto tasks = env::load_tasks(TEMPER_SOURCE_DIR "/env/tasks/cuda");
  return tasks;
}

const std::vector<Task>& triton_tasks() {
  static const auto tasks = env::tasks_in(env::kTriton, gpu_tasks());
  return tasks;
}

Task written_as(const std::string& reference, const std::string& inputs, const std::string& outputs) {
  return env::parse_tasks(
             fmt::format("{{name: one, language: triton, reference: \"{}\", inputs: {}, outputs: {}, "
                         "check: [{{n: 3, m: 5}}], timed: {{n: 8, m: 8}}}}",
                         reference, inputs, outputs),
             "here")
      .front();
}

struct Sources {
  Task task;
  std::vector<std::string> sources;
};

// "right" for each source, or what is wrong with it. Nothing where Python has not what it takes.
std::vector<std::string> interpreted(const std::vector<Sources>& all) {
  nlohmann::json request = nlohmann::json::array();
  size_t count = 0;
  for (const auto& [task, sources] : all) {
    request.push_back({{"task", nlohmann::json::parse(env::tasks_to_json({task}))[0]}, {"sources", sources}});
    count += sources.size();
  }
  const auto file = std::filesystem::temp_directory_path() / fmt::format("triton_traces_{}.json", ::getpid());
  write_file_atomic(file, request.dump());
  const auto command =
      fmt::format("'{}' '{}' '{}'", env::triton_options()->python.program,
                  TEMPER_SOURCE_DIR "/tests/rollout/traces/triton_interpreted.py", file.string());
  std::vector<std::string> said;
  FILE* const pipe = ::popen(command.c_str(), "r");
  char line[1024];
  while (pipe != nullptr && std::fgets(line, sizeof(line), pipe) != nullptr)
    said.emplace_back(line, std::string_view(line).find_last_not_of("\n") + 1);
  const int status = pipe == nullptr ? -1 : ::pclose(pipe);
  std::filesystem::remove(file);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return {};
  EXPECT_EQ(said.size(), count) << command;
  said.resize(count);
  return said;
}

// Those that the grammar writes, given and generated ones; every `nth` unless all are wanted.
std::vector<std::pair<Task, Recipe>> some_recipes(size_t nth, int64_t generated) {
  auto all = triton_tasks();
  for (auto& task : generate_tasks(triton_tasks(), every_one_wanted() ? 150 : generated, 3))
    all.push_back(std::move(task));
  std::vector<std::pair<Task, Recipe>> chosen;
  size_t count = 0;
  for (const auto& task : all) {
    auto recipe = write_recipe(task, 1);
    if (recipe.variants.empty() || (count++ % nth != 0 && !every_one_wanted())) continue;
    chosen.emplace_back(task, std::move(recipe));
  }
  return chosen;
}

TEST(TritonTraces, RightAnswersComputeTheReferenceAndMistakesDoNot) {
  SKIP_WITHOUT_TRITON();
  const auto recipes = some_recipes(11, 30);
  std::vector<Sources> all;
  for (const auto& [task, recipe] : recipes) {
    all.push_back({task, {}});
    for (const auto& variant : recipe.variants) all.back().sources.push_back(variant.source);
  }
  const auto said = interpreted(all);
  if (said.empty()) GTEST_SKIP() << "no numpy";
  size_t at = 0, right = 0, mistakes = 0, unseen = 0;
  for (const auto& [task, recipe] : recipes) {
    for (const auto& variant : recipe.variants) {
      const auto& verdict = said[at++];
      if (variant.kind == Kind::kRight) {
        ++right;
        EXPECT_EQ(verdict, "right") << task.name << "\n" << task.reference << "\n" << variant.answer;
        continue;
      }
      ++mistakes;
      unseen += verdict == "right";
      if (verdict == "right" && every_one_wanted())
        std::printf("PASSES: %s\n%s\n%s\n", task.name.c_str(), task.reference.c_str(),
                    variant.answer.c_str());
    }
  }
  std::printf("%zu right answers, %zu mistakes, %zu of them compute the reference\n", right, mistakes,
              unseen);
  EXPECT_GT(right, 40u);
  EXPECT_GT(mistakes, 20u);
  EXPECT_LT(double(unseen), 0.1 * double(mistakes));
}

// As many answers for each task as the grammar has in CUDA, and all of them different.
TEST(TritonTraces, EveryTaskOfCudaIsWrittenSlowFastAndWrong) {
  size_t tasks = 0, answers = 0, cuda_answers = 0;
  for (const auto& task : gpu_tasks()) {
    const auto in_cuda = write_recipe(task, 1), recipe = write_recipe(env::asked_in(env::kTriton, task), 1);
    EXPECT_EQ(recipe.variants.empty(), in_cuda.variants.empty()) << task.name;
    if (recipe.variants.empty()) continue;
    ++tasks;
    std::set<std::string> sources;
    for (const auto& variant : recipe.variants) {
      EXPECT_TRUE(sources.insert(variant.source).second) << variant.source;
      EXPECT_EQ(env::extract_code(variant.answer).code, variant.source);
      EXPECT_EQ(recipe.variants[variant.repair].kind, Kind::kRight);
    }
    EXPECT_FALSE(recipe.right(false).empty()) << task.name;
    EXPECT_FALSE(recipe.right(true).empty()) << task.name;
    EXPECT_GE(recipe.of_kind(Kind::kHabit).size() + recipe.of_kind(Kind::kSlip).size(), 2u) << task.name;
    EXPECT_GE(recipe.of_kind(Kind::kRight).size(), in_cuda.of_kind(Kind::kRight).size()) << task.name;
    answers += recipe.variants.size();
    cuda_answers += in_cuda.variants.size();
  }
  std::printf("%zu tasks, %zu answers in Triton, %zu in CUDA\n", tasks, answers, cuda_answers);
  EXPECT_GE(tasks, 70u);
  EXPECT_GE(answers, cuda_answers);
}

// Of the mistakes that only Triton has, each is seen in one of the first programs and ways that invite it.
TEST(TritonTraces, EachMistakeOfBlocksIsSeen) {
  SKIP_WITHOUT_TRITON();
  const std::vector<std::string> names = {"gpu_softmax",
                                          "gpu_log_softmax_f16",
                                          "gpu_matmul_f32",
                                          "gpu_scale_shift_relu",
                                          "gpu_residual_scale_bf16",
                                          "gpu_mse_rows",
                                          "gpu_binary_cross_entropy_rows",
                                          "gpu_cumsum_relu"};
  std::vector<Sources> all;
  std::vector<size_t> made;
  std::map<size_t, int> tries;
  for (const auto& name : names) {
    all.push_back({env::find_task(triton_tasks(), name), {}});
    const Program program = lower(all.back().task);
    for (auto style : styles(program)) {
      for (size_t defect = size_t(Defect::kNoNeutral); defect <= size_t(Defect::kUndeclared); ++defect) {
        style.defects.reset();
        style.defects.set(defect);
        const auto source = write_kernel(program, style);
        if (!source || tries[defect] >= 3) continue;
        ++tries[defect];
        made.push_back(defect);
        all.back().sources.push_back(*source);
      }
    }
  }
  const auto said = interpreted(all);
  if (said.empty()) GTEST_SKIP() << "no numpy";
  std::set<size_t> seen;
  for (size_t k = 0; k < said.size(); ++k)
    if (said[k] != "right") seen.insert(made[k]);
  for (size_t defect = size_t(Defect::kNoNeutral); defect <= size_t(Defect::kUndeclared); ++defect)
    EXPECT_TRUE(seen.contains(defect))
        << "defect " << defect - size_t(Defect::kNoNeutral) << " of kNoNeutral…";
}

TEST(TritonTraces, ExpressionsOfManyPartsAreWritten) {
  SKIP_WITHOUT_TRITON();
  std::string reference = "x";
  for (int i = 0; i < 16; ++i) reference = fmt::format("torch.clamp({} * 1.5, -1, 1)", reference);
  const Task task = written_as(reference, "{x: [n, m]}", "{y: [n, m]}");
  const Recipe recipe = write_recipe(task, 1);
  ASSERT_FALSE(recipe.right(true).empty());
  const auto said = interpreted({{task, {recipe.variants[recipe.right(true)[0]].source}}});
  if (said.empty()) GTEST_SKIP() << "no numpy";
  EXPECT_EQ(said[0], "right");
}

}  // namespace
}  // namespace temper::traces
