#include "env/task/task.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "env/task/size_expression.h"
#include "env/task/task_json.h"

namespace temper::env {
namespace {

using testing::HasSubstr;

constexpr const char* kFile = R"(
defaults: {family: softmax, magnitudes: [1, 30]}
tasks:
  - name: row_softmax_bias
    reference: torch.softmax(x + b, -1)
    inputs: {x: [n, m], b: {shape: [m], scaled: false}}
    outputs: {y: [n, m]}
    check: [{n: 3, m: 17}, {n: 16, m: 5}]
    timed: {n: 256, m: 128}
    split: heldout
    flops: 5*n*m
  - name: gather_rows
    family: gather
    reference: |
      def reference(x, idx):
          rows = x[idx]
          return rows, rows.sum(-1)
    inputs: {x: [n, m], idx: {shape: [k], type: i32, below: n}}
    outputs: {y: [k, m], s: [k]}
    dims: [k, n, m]
    check: [{n: 3, m: 17, k: 5}]
    timed: {n: 256, m: 128, k: 64}
)";

std::string problem_of(const std::string& yaml) {
  try {
    parse_tasks(yaml, "tasks.yaml");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

std::string with_input(const std::string& input) {
  return fmt::format(
      "name: one\nreference: x + 1\ninputs: {{x: {}}}\noutputs: {{y: [n]}}\ncheck: [{{n: 3}}]\ntimed: {{n: "
      "64}}\n",
      input);
}

std::string with_line(const std::string& line) {
  return "name: one\nreference: x + 1\ninputs: {x: [n]}\noutputs: {y: [n]}\ncheck: [{n: 3}]\ntimed: {n: "
         "64}\n" +
         line;
}

TEST(Task, APlainInputIsSaidInThePrompt) {
  const std::string rest = ", outputs: {y: [n]}, check: [{n: 3}], timed: {n: 9}}";
  const std::string head = "{name: t, reference: x + z, inputs: {z: [n], x: ";
  const Task plain = parse_tasks(head + "{shape: [n], plain: true}}" + rest, "t")[0];
  const Task usual = parse_tasks(head + "[n]}" + rest, "t")[0];
  EXPECT_NE(plain.prompt().find("plain: x\n"), std::string::npos) << plain.prompt();
  EXPECT_EQ(usual.prompt().find("plain"), std::string::npos);
  EXPECT_NE(plain.digest(), usual.digest());
}

TEST(Task, ReadsDefaultsShapesAndDistributions) {
  const auto tasks = parse_tasks(kFile, "tasks.yaml");
  ASSERT_EQ(tasks.size(), 2u);
  const Task& softmax = tasks[0];
  EXPECT_EQ(softmax.reference, "def reference(x, b):\n    return torch.softmax(x + b, -1)\n");
  EXPECT_EQ(softmax.family, "softmax");
  EXPECT_EQ(softmax.split, "heldout");
  EXPECT_EQ(softmax.magnitudes, (std::vector<double>{1, 30}));
  EXPECT_EQ(softmax.dims, (std::vector<std::string>{"n", "m"}));
  EXPECT_FALSE(softmax.inputs[1].scaled);
  EXPECT_EQ(softmax.min_flops, 5.0 * 256 * 128);
  EXPECT_EQ(softmax.min_bytes, 4.0 * (2 * 256 * 128 + 128));
  const Task& gather = tasks[1];
  EXPECT_EQ(gather.family, "gather");
  EXPECT_EQ(gather.split, "train");
  EXPECT_EQ(gather.inputs[1].index_bound, "n");
  EXPECT_EQ(gather.inputs[1].distribution, Distribution::kIndex);
  EXPECT_EQ(tensor_sizes(gather.outputs[0], gather.check_shapes[0]), (std::vector<int64_t>{5, 17}));
}

TEST(Task, SignatureAndPromptAreWhatThePolicySees) {
  const auto tasks = parse_tasks(kFile, "tasks.yaml");
  EXPECT_EQ(
      tasks[1].signature(),
      "extern \"C\" void kernel(const float* x, const int* idx, float* y, float* s, int k, int n, int m)");
  EXPECT_EQ(tasks[0].prompt(),
            "x[n, m] b[m] y[n, m]\n"
            "y = torch.softmax(x + b, -1)\n"
            "extern \"C\" void kernel(const float* x, const float* b, float* y, int n, int m)");
  EXPECT_EQ(tasks[1].prompt(),
            "x[n, m] idx[k] y[k, m] s[k]\n"
            "rows = x[idx]\n"
            "y, s = rows, rows.sum(-1)\n" +
                tasks[1].signature());
}

TEST(Task, GpuTasksHaveShortFloatsAndAnotherEntryPoint) {
  const std::string types =
      "inputs: {x: {shape: [n], type: bf16}, i: {shape: [n], type: i32, below: n}}\n"
      "outputs: {y: {shape: [n], type: f16}, z: [n]}\ncheck: [{n: 3}]\ntimed: {n: 64}\n"
      "name: one\nreference: x, x\n";
  const Task task = parse_tasks(types + "language: cuda\n", "tasks.yaml")[0];
  EXPECT_EQ(task.signature(),
            "extern \"C\" void launch(const __nv_bfloat16* x, const int* i, __half* y, float* z, int n)");
  EXPECT_EQ(task.min_bytes, 64.0 * (2 + 4 + 2 + 4));
  EXPECT_NE(problem_of(types).find("inputs.x.type: 'bf16' is not allowed; allowed: f32, i32"),
            std::string::npos);
  EXPECT_NE(problem_of(types + "language: ptx").find("language: 'ptx' is not allowed; allowed: cpp, cuda"),
            std::string::npos);
}

TEST(Task, DigestFollowsWhatDecidesAVerdict) {
  auto tasks = parse_tasks(kFile, "tasks.yaml");
  const auto before = tasks[0].digest();
  EXPECT_EQ(before, tasks_from_json(tasks_to_json(tasks))[0].digest());
  tasks[0].tolerance *= 2;
  EXPECT_NE(before, tasks[0].digest());
}

TEST(Task, EachMistakeNamesFileLineTaskFieldAndWhatIsAllowed) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"tolerence: 1", "tasks.yaml:7: task one, tolerence: unknown key; did you mean tolerance?"},
      {"split: test", "tasks.yaml:7: task one, split: 'test' is not allowed; allowed: train, heldout"},
      {"nonsense: 1", "nonsense: unknown key; known: name, language"},
      {"tolerance: [1, 2]",
       "tasks.yaml:7: task one, tolerance: '[1, 2]' is not allowed; expected a number in (0, 0.1]"},
      {"magnitudes: many",
       "tasks.yaml:7: task one, magnitudes: 'many' is not allowed; expected a list of numbers"},
      {"dims: [m]", "tasks.yaml:7: task one, dims: undefined dimension 'n'; dims lists: m"},
      {"flops: 2*k", "tasks.yaml:7: task one, flops: '2*k': undefined dimension 'k'"},
      {"split: train\nsplit: heldout", "tasks.yaml:8: task one, split: given twice"},
  };
  for (const auto& [line, expected] : cases) {
    EXPECT_NE(problem_of(with_line(line)).find(expected), std::string::npos) << problem_of(with_line(line));
  }
}

TEST(Task, EachMistakeInAnInputIsNamed) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"{shape: [n], scale: n - 64}", "task one, x: scale 'n - 64' is 0; above 0 is allowed"},
      {"{shape: [n], scale: 1/sqrt(k)}", "task one, x: scale '1/sqrt(k)': undefined dimension 'k'"},
      {"{shape: [n], uniform: [0, 1], scale: 2}", "inputs.x.scale: only for normal inputs"},
      {"{shape: [n], distinct: [1, 1]}",
       "inputs.x.distinct: [1, 1] is not allowed; [low, high] of a float input, low < high"},
      {"{shape: [n, 70000], distinct: [-1, 1]}",
       "task one, x: 4480000 elements; f32 tells at most 4194304 apart between -1 and 1"},
      {"{shape: [n], distinct: [0, 1], uniform: [0, 1]}", "`uniform` or `distinct`, not both"},
      {"[n, 4000000000, 4000000000, 4000000000]", "elements; at most 67108864"},
  };
  for (const auto& [input, expected] : cases)
    EXPECT_NE(problem_of(with_input(input)).find(expected), std::string::npos)
        << problem_of(with_input(input));
}

TEST(Task, TooManyShapesAreNamed) {
  const auto text = [](int checks) {
    std::string shapes;
    for (int n = 1; n <= checks; ++n) shapes += fmt::format("{{n: {}}}, ", n);
    return "name: one\nreference: x\ninputs: {x: [n]}\noutputs: {y: [n]}\ncheck: [" + shapes +
           "]\ntimed: [{n: 64}, {n: 65}]\n";
  };
  EXPECT_EQ(parse_tasks(text(62), "tasks.yaml")[0].check_shapes.size(), 62u);
  EXPECT_EQ(problem_of(text(63)),
            "tasks.yaml:5: task one, check: 65 shapes, with those of timed; at most 64");
}

TEST(Task, ATooLargeSizeIsNamed) {
  const auto problem = problem_of(
      "name: one\nreference: x\ninputs: {x: [n]}\noutputs: {y: [n]}\ncheck: [{n: 3}]\ntimed: {n: "
      "9999999999}\n");
  EXPECT_EQ(problem, "tasks.yaml:6: task one, timed.n: 9999999999 is not allowed; at most 268435456");
}

TEST(Task, AnUndefinedDimensionIsFound) {
  const auto problem = problem_of(
      "name: one\nreference: x\ninputs: {x: [n, k]}\noutputs: {y: [n, k]}\ncheck: [{n: 3}]\ntimed: {n: 64, "
      "k: 2}\n");
  EXPECT_EQ(problem, "tasks.yaml:5: task one, check[0]: undefined dimension 'k'");
}

TEST(Task, AllProblemsAreToldAtOnce) {
  const auto problem = problem_of(with_line("tolerance: 7\nflops: n*\nfoo: 1\n"));
  EXPECT_NE(problem.find("tolerance: 7"), std::string::npos) << problem;
  EXPECT_NE(problem.find("flops: "), std::string::npos) << problem;
  EXPECT_NE(problem.find("foo: unknown key"), std::string::npos) << problem;
}

TEST(Task, DistributionsFollowTheFile) {
  const Task task = parse_tasks(
      "{name: one, reference: x @ w + d, inputs: {x: [n, k], w: {shape: [k, m], scale: 1/sqrt(k)}, "
      "d: {shape: [m], distinct: [-2, 2]}}, outputs: {y: [n, m]}, check: [{n: 3, k: 16, m: 5}], "
      "timed: {n: 64, k: 64, m: 64}}",
      "t")[0];
  EXPECT_EQ(normal_scale(task.inputs[0], task.timed_shape, 3), 3);
  EXPECT_EQ(normal_scale(task.inputs[1], task.timed_shape, 3), 3.0 / 8);
  EXPECT_EQ(normal_scale(task.inputs[1], task.check_shapes[0], 1), 0.25);
  EXPECT_EQ(task.inputs[2].distribution, Distribution::kDistinct);
  EXPECT_EQ(tasks_from_json(tasks_to_json({task}))[0].inputs[1].scale, "1/sqrt(k)");
}

TEST(Task, HostileYamlIsAProblemAndNothingWorse) {
  for (const char* yaml : {"", "[", "7", "- 7", "tasks: 7", "name: [a]", "inputs: {x: {shape: n}}",
                           "a: &a [*a]", "tasks: [{name: Bad-Name}]", "defaults: 3\ntasks: [1]"}) {
    EXPECT_NE(problem_of(yaml), "") << yaml;
  }
}

// What a name or a value holds is shown short and escaped; what is large is refused before it is multiplied.
TEST(Task, AStrangersFileIsNamedWithItsLine) {
  EXPECT_THAT(problem_of("- name: a\n  split: \xe9\n"),
              HasSubstr("tasks.yaml:2: byte \\xe9 is not valid UTF-8"));
  EXPECT_THAT(problem_of("tasks:\n- &a {name: *a}\n"), HasSubstr("tasks.yaml:2: "));
  EXPECT_THAT(problem_of("name: \"\\e[31m\"\n"), HasSubstr("\\x1b[31m"));
  EXPECT_LT(problem_of("name: " + std::string(1'000'000, 'A')).size(), 10'000u);
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += fmt::format("n{}, ", i);
  EXPECT_THAT(problem_of("inputs: {x: [" + many + "n]}"), HasSubstr("100001 sizes; at most 16"));
  EXPECT_THAT(problem_of("dims: [" + many + "n]"), HasSubstr("100001 dimensions; at most 8"));
}

TEST(Task, UnknownNamesGetTheNearest) {
  const auto tasks = parse_tasks(kFile, "tasks.yaml");
  EXPECT_EQ(&find_task(tasks, "gather_rows"), &tasks[1]);
  try {
    find_task(tasks, "gather_row");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "task 'gather_row' is unknown; did you mean gather_rows?; `temper tasks` lists all");
  }
}

TEST(SizeExpression, IsArithmeticOverDimensions) {
  const Shape shape{{"n", 6}, {"m", 4}};
  EXPECT_EQ(evaluate_size("2*(n+1)*m/7 - 3", shape), 5);
  EXPECT_EQ(evaluate_size("1/sqrt(4*m)", shape), 0.25);
  for (const char* bad : {"", "2*", "(n", "n)", "q", "n m", "-"})
    EXPECT_THROW(evaluate_size(bad, shape), ConfigError);
}

}  // namespace
}  // namespace temper::env
