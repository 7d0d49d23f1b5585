// The answers of CUDA traces without a GPU: computed on the CPU and held against the reference.
// All tasks and variants: TEMPER_ALL_TRACES=1 rollout_tests --gtest_filter='CudaTraces*'; else a sample.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <regex>
#include <set>

#include "env/verdict/answer.h"
#include "rollout/traces/generated.h"
#include "rollout/traces/kernel.h"
#include "rollout/traces/program.h"
#include "rollout/traces/recipe.h"
#include "rollout/traces/style.h"
#include "rollout/traces/styles.h"
#include "rollout/traces/unjudged.h"
#include "tests/cuda_on_cpu/computed.h"

namespace temper::traces {

using env::Task;

namespace {

using Kind = Variant::Kind;
using cuda_on_cpu::Computed, cuda_on_cpu::drawn;

bool all_wanted() { return std::getenv("TEMPER_ALL_TRACES") != nullptr; }

std::vector<Task> cuda_tasks() {
  static const auto tasks = env::load_tasks(TEMPER_SOURCE_DIR "/env/tasks/cuda");
  return tasks;
}

// Those that the grammar writes, given and generated ones; without all_wanted() every `nth`.
std::vector<std::pair<Task, Recipe>> recipes(size_t nth, int64_t generated) {
  static const auto tasks = [&] {
    auto all = cuda_tasks();
    for (auto& task : generate_tasks(cuda_tasks(), all_wanted() ? 150 : generated, 3))
      all.push_back(std::move(task));
    return all;
  }();
  std::vector<std::pair<Task, Recipe>> chosen;
  size_t count = 0;
  for (const auto& task : tasks) {
    auto recipe = write_recipe(task, 1);
    if (recipe.variants.empty() || (count++ % nth != 0 && !all_wanted())) continue;
    chosen.emplace_back(task, std::move(recipe));
  }
  return chosen;
}

bool compiles(const Task& task, const std::string& source) {
  try {
    cuda_on_cpu::Library library(task, {source});
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

TEST(CudaTraces, RightAnswersComputeTheReferenceAndMistakesDoNot) {
  size_t right = 0, mistakes = 0, unseen = 0;
  for (const auto& [task, recipe] : recipes(16, 30)) {
    std::vector<size_t> numbers;
    std::vector<std::string> sources;
    for (size_t k = 0; k < recipe.variants.size(); ++k) {
      const auto& variant = recipe.variants[k];
      if (variant.kind == Kind::kSlip && !compiles(task, variant.source)) {
        ++mistakes;
        continue;
      }
      numbers.push_back(k);
      sources.push_back(variant.source);
    }
    cuda_on_cpu::Library library(task, sources);
    Computed computed(task);
    for (size_t v = 0; v < numbers.size(); ++v) {
      const auto& variant = recipe.variants[numbers[v]];
      const bool passes = computed.by(library, v);
      if (variant.kind == Kind::kRight) {
        ++right;
        EXPECT_TRUE(passes) << task.name << "\n" << task.reference << "\n" << variant.answer;
      } else {
        ++mistakes;
        unseen += passes;
        if (passes && all_wanted())
          std::printf("PASSES: %s\n%s\n%s\n", task.name.c_str(), task.reference.c_str(),
                      variant.answer.c_str());
      }
    }
  }
  std::printf("%zu right answers, %zu mistakes, %zu of them compute the reference\n", right, mistakes,
              unseen);
  EXPECT_GT(right, 20u);
  EXPECT_GT(mistakes, 15u);
  EXPECT_LT(double(unseen), 0.1 * double(mistakes));
}

// Of the mistakes in what threads do, each is seen in one of the first programs and ways that invite it.
TEST(CudaTraces, EachMistakeOfThreadsIsSeen) {
  const std::vector<std::string> names = {"gpu_hard_swish",        "gpu_row_mean_bf16", "gpu_softmax",
                                          "gpu_cumsum_relu",       "gpu_matmul_f32",    "gpu_total_product",
                                          "gpu_column_sum_product"};
  std::map<size_t, bool> seen;
  for (const auto& name : names) {
    const Task task = env::find_task(cuda_tasks(), name);
    const Program program = lower(task);
    std::vector<size_t> defects;
    std::vector<std::string> sources;
    for (auto style : styles(program)) {
      for (size_t defect = size_t(Defect::kNoBounds); defect <= size_t(Defect::kLastTile); ++defect) {
        style.defects.reset();
        style.defects.set(defect);
        const auto source = write_kernel(program, style);
        if (!source || seen[defect]) continue;
        defects.push_back(defect);
        sources.push_back(*source);
      }
    }
    if (sources.empty()) continue;
    cuda_on_cpu::Library library(task, sources);
    Computed computed(task);
    for (size_t v = 0; v < sources.size(); ++v) {
      if (!seen[defects[v]]) seen[defects[v]] = !computed.by(library, v);
    }
  }
  seen[size_t(Defect::kThreadARow)] =
      true;  // there are rows enough of at most 1,024; the timed ones are longer
  for (size_t defect = size_t(Defect::kNoBounds); defect <= size_t(Defect::kLastTile); ++defect)
    EXPECT_TRUE(seen[defect]) << "defect " << defect - size_t(Defect::kNoBounds) << " of kNoBounds…kLastTile";
}

TEST(CudaTraces, EveryTaskIsWrittenSlowFastAndWrong) {
  size_t tasks = 0;
  for (const auto& task : cuda_tasks()) {
    const auto recipe = write_recipe(task, 1);
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
  }
  EXPECT_GE(tasks, 70u);
}

TEST(CudaTraces, WhatTheKernelsTakeForGrantedIsChecked) {
  const auto written = [](const std::string& reference, const std::string& inputs,
                          const std::string& outputs) {
    const auto tasks = env::parse_tasks(
        fmt::format("{{name: one, language: cuda, reference: \"{}\", inputs: {}, outputs: {}, "
                    "check: [{{n: 3, m: 5}}], timed: {{n: 8, m: 8}}}}",
                    reference, inputs, outputs),
        "here");
    return !write_recipe(tasks[0], 1).variants.empty();
  };
  EXPECT_TRUE(written("torch.logsumexp(x, -1)", "{x: [n, m]}", "{y: [n]}"));
  EXPECT_TRUE(written("x - x.mean(1, keepdim=True)", "{x: [n, m]}", "{y: [n, m]}"));
  EXPECT_TRUE(written("x * s.unsqueeze(1)", "{x: [n, m], s: [n]}", "{y: [n, m]}"));
  EXPECT_TRUE(written("x.flip([1])", "{x: [n, m]}", "{y: [n, m]}"));
  EXPECT_FALSE(written("torch.square(x - x.mean(0)).mean(0)", "{x: [n, m]}", "{y: [m]}"));
  EXPECT_FALSE(written("torch.erfinv(x)", "{x: [n, m]}", "{y: [n, m]}"));
  EXPECT_FALSE(
      written("torch.maximum(x, z)", "{x: {shape: [n, m], nonfinite: true}, z: [n, m]}", "{y: [n, m]}"));
  EXPECT_FALSE(written("x.amax(1)", "{x: {shape: [n, m], nonfinite: true}}", "{y: [n]}"));
  EXPECT_FALSE(written("x.softmax(0)", "{x: [n, m]}", "{y: [n, m]}"));
  EXPECT_FALSE(written("x * b", "{x: [n, m], b: [n, 1]}", "{y: [n, m]}"));
}

// More of them than the writer has names at hand.
TEST(CudaTraces, ExpressionsOfManyPartsAreWritten) {
  std::string reference = "x";
  for (int i = 0; i < 16; ++i) reference = fmt::format("torch.clamp({} * 1.5, -1, 1)", reference);
  const Task task =
      env::parse_tasks(fmt::format("{{name: one, language: cuda, reference: \"{}\", inputs: {{x: [n, m]}}, "
                                   "outputs: {{y: [n, m]}}, check: [{{n: 3, m: 5}}], timed: {{n: 8, m: 8}}}}",
                                   reference),
                       "here")[0];
  const Recipe recipe = write_recipe(task, 1);
  const auto right = recipe.right(true);
  ASSERT_FALSE(right.empty());
  cuda_on_cpu::Library library(task, {recipe.variants[right[0]].source});
  EXPECT_TRUE(Computed(task).by(library, 0)) << recipe.variants[right[0]].answer;
}

// One after the other in one block of code.
TEST(CudaTraces, PartsOfTwoValuesHaveDifferentNames) {
  const Task task = env::parse_tasks(
      "{name: one, language: cuda, reference: \"torch.clamp(torch.cumsum(torch.square(x * a), 1) * a, 0, "
      "1)\", "
      "inputs: {x: [n, m], a: [m]}, outputs: {y: [n, m]}, check: [{n: 3, m: 5}], timed: {n: 8, m: 8}}",
      "here")[0];
  const Recipe recipe = write_recipe(task, 1);
  std::vector<std::string> sources;
  for (const bool fast : {false, true})
    for (const size_t k : recipe.right(fast)) sources.push_back(recipe.variants[k].source);
  ASSERT_GT(sources.size(), 1u);
  cuda_on_cpu::Library library(task, sources);
  Computed computed(task);
  for (size_t k = 0; k < sources.size(); ++k) EXPECT_TRUE(computed.by(library, k)) << sources[k];
}

TEST(CudaTraces, GeneratedTasksMoveWhatTheyName) {
  const auto tasks = generate_tasks(cuda_tasks(), 200, 3);
  EXPECT_EQ(tasks.size(), 200u);
  std::set<std::string> given;
  for (const auto& task : cuda_tasks()) given.insert(canonical_task(task));
  for (const auto& task : tasks) {
    EXPECT_EQ(task.language, "cuda");
    EXPECT_FALSE(given.contains(canonical_task(task))) << task.reference;
    EXPECT_FALSE(write_recipe(task, 1).variants.empty()) << task.reference;
    for (const char* input : {"x", "z", "a", "c"})
      EXPECT_EQ(task.reference.find(fmt::format("({0} - {0})", input)), std::string::npos) << task.reference;
    double moved = double(env::tensor_bytes(task.outputs[0], task.timed_shape));
    for (const auto& input : task.inputs) moved += double(env::tensor_bytes(input, task.timed_shape));
    EXPECT_LE(task.min_bytes, moved) << task.reference;
  }
}

TEST(CudaTraces, GeneratedTasksReachBeyondTheirParents) {
  std::map<std::string, int> seen;
  for (const auto& task : generate_tasks(cuda_tasks(), 2000, 3)) {
    const auto count = [&](const std::string& what, const std::string& pattern) {
      seen[what] += std::regex_search(task.reference, std::regex(pattern));
    };
    count("a product down the columns", "b @ x");
    count("the length of a row or column", R"(return torch\.sqrt\(.*\.sum\([01]\))");
    count("a sum against another", R"(return s [-+*] t\b)");
    count("a quotient of sums", R"(torch\.rsqrt\([tg] \* [tg] \+ 1e-6\))");
    count("a value that is its own gate", R"(\b(\w) \* torch\.[\w.]+\(\1 \* \d)");
    count("a power", R"(\b(\w) \* \1 \* \1 \* )");
    count("a long number", R"(\d\.\d{6})");
    count("a small number", R"(\b0\.0\d\d)");
    count("a function's result as the second factor", R"(\bz \* torch\.)");
    count("a softmax of something made", R"(softmax\(\w+ \*)");
  }
  for (const auto& [what, times] : seen) EXPECT_GT(times, 0) << what;
}

TEST(CudaTraces, FastAnswersAreWrittenInOtherWaysIfWished) {
  const auto plans = [](double other_rate) {
    std::set<std::string> found;
    const TraceOptions options{.unjudged = 200, .slow_rate = 0, .other_rate = other_rate};
    for (const auto& trace : make_unjudged_examples(options, cuda_tasks(), {}, 1).traces)
      found.insert(trace.turns[0].answer.substr(0, trace.turns[0].answer.find('\n')));
    return found;
  };
  EXPECT_FALSE(plans(0).contains("A block a row, warp shuffles."));
  EXPECT_TRUE(plans(1).contains("A block a row, warp shuffles."));
  EXPECT_TRUE(plans(1).contains("A warp a row."));
}

// An oracle refuses to start with a task whose reference does not run or gives another shape; of one that
// gives no number nothing can be learned.
TEST(CudaTraces, GeneratedReferencesRun) {
  for (uint64_t seed = 1; seed <= (all_wanted() ? 3u : 1u); ++seed) {
    for (const auto& task : generate_tasks(cuda_tasks(), all_wanted() ? 400 : 150, seed)) {
      const env::Reference reference(task);
      const env::Shape& shape = task.check_shapes[0];
      std::vector<at::Tensor> inputs;
      for (const auto& input : task.inputs) inputs.push_back(drawn(input, shape, 1));
      const auto outputs = reference(inputs);
      ASSERT_EQ(outputs.size(), 1u) << task.reference;
      EXPECT_EQ(outputs[0].sizes().vec(), env::tensor_sizes(task.outputs[0], shape)) << task.reference;
      EXPECT_EQ(outputs[0].scalar_type(), env::dtype_of(task.outputs[0].type)) << task.reference;
      const bool declared = std::ranges::any_of(task.inputs, &env::TensorSpec::nonfinite);
      EXPECT_TRUE(declared || !outputs[0].isnan().any().item<bool>()) << task.reference;
    }
  }
}

}  // namespace
}  // namespace temper::traces
