#include "rollout/traces/traces.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <regex>
#include <set>

#include "env/verdict/answer.h"
#include "rollout/traces/generated.h"
#include "rollout/traces/recipe.h"
#include "rollout/traces/reference.h"
#include "rollout/traces/spelling.h"
#include "rollout/traces/unjudged.h"
#include "rollout/traces/variation.h"

namespace temper::traces {

using env::find_task;
using env::Task;

namespace {

const std::vector<Task>& native_tasks() {
  static const auto tasks = env::load_tasks(TEMPER_SOURCE_DIR "/env/tasks/cpp");
  return tasks;
}

std::vector<Task> native_tasks_of(const std::string& split) {
  std::vector<Task> chosen;
  for (const auto& task : native_tasks()) {
    if (task.split == split) chosen.push_back(task);
  }
  return chosen;
}

std::vector<Task> named(const std::vector<std::string>& names) {
  std::vector<Task> chosen;
  for (const auto& name : names) chosen.push_back(find_task(native_tasks(), name));
  return chosen;
}

TEST(Reference, SourceReadsBackToTheSame) {
  for (const auto& task : native_tasks()) {
    std::vector<std::string> inputs;
    for (const auto& input : task.inputs) inputs.push_back(input.name);
    const std::string source = reference_source(parse_reference(task.reference), inputs);
    EXPECT_EQ(canonical_reference(source), canonical_reference(task.reference)) << source;
  }
}

TEST(Reference, CanonicalFormIgnoresOrderNamesAndSpelling) {
  const auto canonical = [](const std::string& body) {
    return canonical_reference("def reference(x, a):\n" + body);
  };
  EXPECT_EQ(canonical("  return torch.relu(a * x + 1)"), canonical("  h = 1 + x * a\n  return h.relu()"));
  EXPECT_EQ(canonical("  return torch.square(x)"), canonical("  return x * x"));
  EXPECT_NE(canonical("  return x - a"), canonical("  return a - x"));
  EXPECT_NE(canonical("  return x.sum(0)"), canonical("  return x.sum(1)"));
}

TEST(Traces, NativeTasksAreAllDifferent) {
  std::set<std::string> seen;
  for (const auto& task : native_tasks()) {
    EXPECT_TRUE(seen.insert(canonical_task(task)).second) << task.name;
  }
}

TEST(Traces, EveryTrainTaskIsWrittenSlowFastAndWrong) {
  for (const auto& task : native_tasks_of("train")) {
    int slow = 0, fast = 0;
    std::set<std::string> mistakes, sources;
    for (const auto& variant : write_recipe(task, 1).variants) {
      if (variant.kind != Variant::Kind::kRight)
        mistakes.insert(variant.source);
      else
        (variant.fast ? fast : slow) += 1;
      EXPECT_EQ(env::extract_code(variant.answer).code, variant.source);
      EXPECT_TRUE(sources.insert(variant.source).second) << variant.source;
    }
    EXPECT_GE(slow, 1) << task.name;
    EXPECT_GE(fast, 1) << task.name;
    EXPECT_GE(mistakes.size(), 2u) << task.name;
  }
}

TEST(Traces, RecipesAreDeterministic) {
  const auto task = native_tasks_of("train")[3];
  const auto once = write_recipe(task, 7), again = write_recipe(task, 7);
  ASSERT_EQ(once.variants.size(), again.variants.size());
  for (size_t k = 0; k < once.variants.size(); ++k)
    EXPECT_EQ(once.variants[k].answer, again.variants[k].answer);
}

TEST(Traces, AReferenceThatTheGrammarCannotReadHasNoRecipe) {
  auto task = native_tasks()[0];
  task.reference = "def reference(x, b, a):\n    return torch.fft(x)\n";
  EXPECT_TRUE(write_recipe(task, 1).variants.empty());
  task = native_tasks()[0];
  task.inputs[0].name = "s";
  EXPECT_TRUE(write_recipe(task, 1).variants.empty());
}

TEST(Traces, GeneratedTasksAreNewAndDeterministic) {
  const auto tasks = generate_tasks(native_tasks(), 150, 5), again = generate_tasks(native_tasks(), 150, 5);
  ASSERT_EQ(tasks.size(), 150u);
  std::set<std::string> given;
  for (const auto& task : native_tasks()) given.insert(canonical_reference(task.reference));
  for (size_t k = 0; k < tasks.size(); ++k) {
    EXPECT_EQ(tasks[k].split, env::Split::kGenerated);
    EXPECT_EQ(tasks[k].reference, again[k].reference);
    EXPECT_TRUE(given.insert(canonical_reference(tasks[k].reference)).second) << tasks[k].reference;
    EXPECT_FALSE(write_recipe(tasks[k], 1).variants.empty()) << tasks[k].reference;
  }
  EXPECT_NE(tasks[0].reference, generate_tasks(native_tasks(), 150, 6)[0].reference);
}

std::vector<std::string> input_names(const Task& task) {
  std::vector<std::string> names;
  for (const auto& input : task.inputs) names.push_back(input.name);
  return names;
}

TEST(Variation, HasTheInputsThatItsReferenceNames) {
  const auto parent = find_task(native_tasks(), "scale_columns_relu");
  std::set<std::vector<std::string>> seen;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng{seed};
    const auto task = vary(parent, rng);
    const auto names = input_names(task);
    EXPECT_EQ(reference_source(parse_reference(task.reference), names), task.reference);
    for (const auto& name : names) EXPECT_NE(task.reference.rfind(name), std::string::npos) << task.reference;
    for (const auto& input : task.inputs) {
      if (input.shape.size() == 2) continue;
      EXPECT_EQ(input.shape, std::vector<std::string>{input.name == "b" ? "n" : "m"}) << task.reference;
    }
    EXPECT_EQ(names.front(), "x");
    EXPECT_EQ(task.outputs[0].shape, parent.outputs[0].shape);
    seen.insert(names);
  }
  EXPECT_GT(seen.size(), 5u);
}

TEST(Spelling, IsOfTheSameReference) {
  const auto task = env::parse_tasks(
      "{name: one, language: cuda, reference: 'torch.nn.functional.silu(x) * torch.square(z) + x * z', "
      "inputs: {x: [n], z: [n]}, outputs: {y: [n]}, check: [{n: 5}], timed: {n: 8}}",
      "here")[0];
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng{seed};
    const auto other = respelled(task, rng);
    EXPECT_EQ(canonical_task(other), canonical_task(task)) << other.reference;
    seen.insert(other.reference);
  }
  EXPECT_GT(seen.size(), 10u);
  const auto says = [&](const std::string& text) {
    return std::ranges::any_of(seen, [&](const auto& one) { return one.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(says("z * z"));
  EXPECT_TRUE(says("torch.sigmoid(x)"));
  EXPECT_TRUE(says("z * x"));
}

TEST(Variation, LeavesAloneWhatAQuotientStandsOn) {
  for (const auto& [name, kept] :
       std::map<std::string, std::string>{{"scaled_l1_norm", "/ (s + 1e-3)[:, None]"},
                                          {"rms_norm_shift", "torch.rsqrt(s + 1e-5)"},
                                          {"max_norm", "s = torch.abs(x).amax(1)"}}) {
    const auto& parent = find_task(native_tasks(), name);
    for (uint64_t seed = 0; seed < 40; ++seed) {
      Rng rng{seed};
      const auto task = vary(parent, rng);
      EXPECT_NE(task.reference.find(kept), std::string::npos) << task.reference;
    }
  }
}

std::string with_a_and_c_exchanged(const std::string& reference) {
  const auto marked = std::regex_replace(reference, std::regex("\\ba\\b"), "@");
  return std::regex_replace(std::regex_replace(marked, std::regex("\\bc\\b"), "a"), std::regex("@"), "c");
}

TEST(Traces, AGeneratedTaskIsNoGivenOneUnderOtherNames) {
  auto tasks = named({"scale_columns_relu"});
  auto renamed = tasks;  // and what was generated from it, under other names
  for (const auto& task : generate_tasks(tasks, 40, 5)) {
    if (task.reference.find('c') == std::string::npos) continue;
    auto twin = task;
    twin.split = "heldout";
    for (auto& input : twin.inputs)
      input.name = input.name == "a" ? "c" : input.name == "c" ? "a" : input.name;
    twin.reference = with_a_and_c_exchanged(twin.reference);
    renamed.push_back(twin);
  }
  ASSERT_GT(renamed.size(), 5u);
  for (const auto& task : generate_tasks(renamed, 40, 5)) {
    for (size_t k = 1; k < renamed.size(); ++k)
      EXPECT_NE(task.reference, with_a_and_c_exchanged(renamed[k].reference));
  }
}

// A few tasks; with TEMPER_ALL_TRACES all that are given or varied, their right answers alone: a mistake of
// the grammar's may be one that another order of the same sums makes right.
std::vector<Task> tasks_to_agree_on() {
  if (std::getenv("TEMPER_ALL_TRACES") == nullptr)
    return named({"clamp_scale_rows", "column_max_shifted", "softmax_difference", "row_blur"});
  return with_trace_tasks({.generated = 150}, native_tasks(), 3);
}

TEST(Traces, TheJudgeAgreesWithTheGrammar) {
  const bool all = std::getenv("TEMPER_ALL_TRACES") != nullptr;
  env::Judge judge({.lanes = 2}, tasks_to_agree_on());
  std::map<env::Ticket, Variant> waiting;
  for (const auto& task : judge.tasks()) {
    for (const auto& variant : write_recipe(task, 1).variants) {
      if (!all || variant.kind == Variant::Kind::kRight)
        waiting[judge.submit(task.name, variant.source)] = variant;
    }
  }
  const size_t asked = waiting.size();
  while (!waiting.empty()) {
    for (const auto& [ticket, verdict] : judge.poll(std::chrono::seconds(1))) {
      EXPECT_EQ(verdict.pass(), waiting[ticket].kind == Variant::Kind::kRight)
          << env::to_string(verdict.kind) << " " << verdict.message << "\n"
          << waiting[ticket].answer;
      waiting.erase(ticket);
    }
  }
  if (all) std::printf("%zu right answers judged\n", asked);
}

TEST(Traces, MistakesAreRepairedAndHeldOutTasksAbsent) {
  auto tasks = with_trace_tasks({.generated = 1}, named({"row_mean_abs", "matmul_bias"}), 1);
  tasks.push_back(native_tasks_of("heldout")[0]);
  env::Judge judge({.lanes = 2}, tasks);
  int64_t left = -1;
  const auto traces =
      make_traces({.conversations = 90}, judge, 3, [&](int64_t done, int64_t all) { left = all - done; });
  EXPECT_EQ(left, 0);
  EXPECT_EQ(traces.size(), 90u);
  int repaired = 0;
  for (const auto& trace : traces) {
    EXPECT_NE(trace.task, tasks.back().name);
    ASSERT_FALSE(trace.turns.empty());
    EXPECT_TRUE(trace.turns.back().verdict.pass());
    repaired += !trace.turns.front().verdict.pass();
  }
  EXPECT_GT(repaired, 15);
  EXPECT_LT(repaired, 75);
}

// As many as asked, each with one answer that parses, to tasks that nobody else has.
TEST(Traces, UnjudgedExamplesAreOfTasksOfTheirOwn) {
  const auto tasks = with_trace_tasks({.generated = 50}, native_tasks(), 1);
  const auto examples = make_unjudged_examples({.unjudged = 300, .slow_rate = 0.5}, tasks, {}, 1);
  ASSERT_EQ(examples.tasks.size(), 300u);
  EXPECT_EQ(examples.traces.size(), 300u);
  std::set<std::string> taken;
  for (const auto& task : tasks) taken.insert(canonical_task(task));
  for (const auto& task : examples.tasks) EXPECT_TRUE(taken.insert(canonical_task(task)).second) << task.name;
  for (const Trace& trace : examples.traces) {
    ASSERT_EQ(trace.turns.size(), 1u);
    EXPECT_NE(env::extract_code(trace.turns[0].answer).code, "") << trace.turns[0].answer;
    EXPECT_NO_THROW(find_task(examples.tasks, trace.task));
  }
  const auto again = make_unjudged_examples({.unjudged = 300, .slow_rate = 0.5}, tasks, {}, 1);
  for (size_t k = 0; k < again.traces.size(); ++k)
    EXPECT_EQ(again.traces[k].turns[0].answer, examples.traces[k].turns[0].answer);
}

// A slow answer is followed by a fast one, a fast one by itself, behind the words that their like got.
TEST(Traces, UnjudgedExamplesImprove) {
  const auto passed = [](double speedup) {
    env::Verdict verdict;
    verdict.kind = env::VerdictKind::kPass;
    verdict.speedup = speedup;
    return verdict;
  };
  env::Verdict wrong;
  wrong.kind = env::VerdictKind::kFailIncorrect;
  const std::vector<Trace> judged = {{"some", {{"slow", passed(0.5)}, {"fast", passed(2)}}},
                                     {"some", {{"fast", passed(2)}, {"fast", passed(2)}}},
                                     {"some", {{"wrong", wrong}, {"right", passed(3)}}},
                                     {"some", {{"slow", passed(4)}}}};
  const auto examples =
      make_unjudged_examples({.unjudged = 300, .slow_rate = 0.5}, native_tasks(), judged, 1);
  std::map<double, int> words;
  for (const Trace& trace : examples.traces) {
    if (trace.turns.size() == 1) continue;
    ASSERT_EQ(trace.turns.size(), 2u);
    const bool same = trace.turns[0].answer == trace.turns[1].answer;
    EXPECT_EQ(trace.turns[0].verdict.speedup, same ? 2 : 0.5);
    ++words[trace.turns[0].verdict.speedup];
  }
  EXPECT_GT(words[0.5], 15);
  EXPECT_GT(words[2], words[0.5] + 15);
  EXPECT_LT(words[0.5] + words[2], 160);
}

}  // namespace
}  // namespace temper::traces
