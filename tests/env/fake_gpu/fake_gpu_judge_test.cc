// From source to verdict: nvcc, plan box and all, but for the kernels, which the driver knows by name.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"
#include "env/judge/judge.h"
#include "env/languages/language.h"
#include "env/plan/triton/python.h"
#include "env/verdict/compiled_baselines.h"
#include "tests/env/fake_gpu/fake_driver.h"
#include "tests/env/on_gpu/cases.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

class FakeGpuJudge : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_fake_driver(); }
  static std::string source_with(const std::string& kernel, const std::string& launcher_first = "") {
    return "extern \"C\" __global__ void " + kernel +
           "(const float* x, const float* z, float* y, int n) {\n"
           "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = "
           "x[i] + z[i];\n"
           "}\nextern \"C\" void launch(const float* x, const float* z, float* y, int n) {\n" +
           launcher_first + "  " + kernel + "<<<(n + 255) / 256, 256>>>(x, z, y, n);\n}\n";
  }
  // … that reads a variable, of which this driver knows one called "table".
  static std::string with_table(const std::string& kernel, const std::string& table) {
    std::string source = source_with(kernel);
    source.replace(source.find("x[i] + z[i]"), 11, "x[i] + z[i] + " + table + "[i % 3]");
    return "__device__ float " + table + "[3] = {1, 2, 3};\n" + source;
  }
  static std::vector<Task> and_hand_made(const std::string& yaml) {
    auto tasks = parse_tasks(yaml, "t");
    for (auto& task : hand_made_tasks(Device::kFake)) tasks.push_back(std::move(task));
    return tasks;
  }
  static JudgeOptions options() {
    JudgeOptions options;
    options.lanes = 2;
    options.compile_timeout_s = 120;
    options.run_timeout_s = 60;
    options.max_pairs = 7;
    return options;
  }
};

// A kernel that this driver knows, called by a wrapper in Triton: its first arguments lie where nvcc puts them.
std::string triton_source(const std::string& kernel, const std::string& launcher_first = "") {
  return "import torch\nimport triton\nimport triton.language as "
         "tl\n\n@triton.jit(do_not_specialize=['n'])\ndef " +
         kernel +
         "(x, z, y, n, BLOCK: tl.constexpr):\n"
         "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
         "    tl.store(y + at, tl.load(x + at, mask=at < n) + tl.load(z + at, mask=at < n), mask=at < n)\n\n"
         "def launch(x, z, n):\n" +
         launcher_first + "    y = torch.empty_like(x)\n    " + kernel +
         "[(triton.cdiv(n, 256),)](x, z, y, n, BLOCK=256)\n    return y\n";
}

TEST_F(FakeGpuJudge, JudgesTritonBesideCuda) {
  JudgeOptions with_python = options();
  const std::string own = TEMPER_SOURCE_DIR "/.deps/venv/bin/python3";
  if (std::filesystem::exists(own)) with_python.python = own;
  std::vector<Task> tasks = hand_made_tasks(Device::kFake);
  try {
    find_triton_python(with_python.python);
  } catch (const WorldError& e) {
    GTEST_SKIP() << e.what();
  }
  tasks.push_back(asked_in(kTriton, find_task(tasks, "add")));
  tasks.back().name = "add_in_triton";
  Judge judge(with_python, tasks);
  EXPECT_NE(judge.machine("triton"), judge.machine("cuda"));
  EXPECT_NE(judge.machine("triton").find("triton 3.6"), std::string::npos);
  const std::vector<std::pair<std::string, std::string>> expected{
      {triton_source("good"), "PASS"},
      {triton_source("zeros"), "FAIL_INCORRECT tolerance"},
      {triton_source("one_byte_past"), "FAIL_RUNTIME guard"},
      {triton_source("input_zeroed"), "HACK input_mutation"},
      {triton_source("good", "    x.sum()\n"), "REJECT_POLICY torch_work"},
      {triton_source("good", "    torch.os._exit(0)\n"), "FAIL_PLAN died"},
      {"import triton\n", "FAIL_PARSE no_entry_point"},
  };
  for (const auto& [source, words] : expected) {
    const Verdict verdict = judge.judge("add_in_triton", source);
    const std::string got = fmt::format("{} {}", to_string(verdict.kind), verdict.reason);
    EXPECT_TRUE(got.starts_with(words)) << source << got << ": " << verdict.message;
  }
  EXPECT_EQ(judge.judge("add", source_with("zeros")).kind, VerdictKind::kFailIncorrect);
  EXPECT_EQ(judge.stats().restarts, 0);
}

TEST_F(FakeGpuJudge, JudgesCudaWhereThereIsNoTriton) {
  JudgeOptions without = options();
  without.lanes = 1;
  without.python = "/bin/false";
  std::vector<Task> tasks = hand_made_tasks(Device::kFake);
  tasks.push_back(asked_in(kTriton, find_task(tasks, "add")));
  tasks.back().name = "add_in_triton";
  Judge judge(without, tasks);
  ASSERT_EQ(judge.notes().size(), 1u);
  EXPECT_TRUE(judge.notes()[0].starts_with("candidates in Triton cannot be judged: ")) << judge.notes()[0];
  EXPECT_EQ(judge.judge("add", source_with("zeros")).kind, VerdictKind::kFailIncorrect);
  EXPECT_EQ(judge.judge("add_in_triton", triton_source("good")).kind, VerdictKind::kInfra);
  EXPECT_THROW(Judge(without, {tasks.back()}), WorldError);
}

TEST_F(FakeGpuJudge, VerdictsComeThroughBothStages) {
  Judge judge(options(), hand_made_tasks(Device::kFake));
  const std::vector<std::pair<std::string, std::string>> expected{
      {source_with("good"), "PASS"},
      {source_with("zeros"), "FAIL_INCORRECT tolerance"},
      {source_with("one_byte_past"), "FAIL_RUNTIME guard"},
      {source_with("wild"), "FAIL_RUNTIME illegal_address"},
      {source_with("input_zeroed"), "HACK input_mutation"},
      {source_with("good", "  if (x[0] > 1) n = 0;\n"), "FAIL_PLAN"},
      {with_table("good", "table"), "PASS"},
      {with_table("changes_a_table", "table"), "FAIL_RUNTIME table"},
      {with_table("good", "lost"), "FAIL_PLAN table"},
      {source_with("good", "  nonsense;\n"), "FAIL_COMPILE compile_error"},
      {"int launches = 0;", "FAIL_PARSE no_entry_point"},
  };
  std::map<Ticket, size_t> tickets;
  for (int round = 0; round < 2; ++round)  // the second time each comes along with its double
    for (size_t i = 0; i < expected.size(); ++i) tickets[judge.submit("add", expected[i].first)] = i;
  while (judge.pending() > 0) {
    for (const auto& [ticket, verdict] : judge.poll(std::chrono::milliseconds(100))) {
      const auto& [source, words] = expected[tickets.at(ticket)];
      const std::string got = fmt::format("{} {}", to_string(verdict.kind), verdict.reason);
      EXPECT_TRUE(got.starts_with(words)) << source << got << ": " << verdict.message;
    }
  }
  EXPECT_EQ(judge.stats().submitted, 22);
  EXPECT_GE(judge.stats().cached, 10);
  EXPECT_EQ(judge.stats().restarts, 0);
  EXPECT_EQ(judge.sandbox_level().substr(0, 2), "S2");
}

// "good" and "zeros" are what this driver knows kernels by; their bodies are the compiler's alone.
TEST_F(FakeGpuJudge, HostHalvesAreSharedAndVerdictsAreNot) {
  const auto tasks = hand_made_tasks(Device::kFake);
  JudgeOptions one = options();
  one.lanes = 1;
  Judge sharing(one, tasks);
  const auto with_body = [](const std::string& kernel, const std::string& first) {
    std::string source = source_with(kernel);
    return source.insert(source.find("  for"), first);
  };
  const std::vector<std::string> sources{
      source_with("good"),
      with_body("good", "  // another\n"),
      with_body("good", "  __shared__ float s[3]; s[n] = x[0]; y[n] = s[0];\n"),
      with_body("good", "  nonsense;\n"),
      with_body("good", "  __shared__ float s[1 << 20]; s[n] = x[0]; y[n] = s[0];\n"),
      with_body("good", "  static int calls = 3; y[n] = ++calls;\n"),
      source_with("zeros"),
      with_body("zeros", "  // another\n"),
      source_with("good"),
  };
  for (const std::string& source : sources) {
    const Verdict shared = sharing.judge("add", source);
    const Verdict alone = Judge(one, tasks).judge("add", source);
    EXPECT_EQ(shared.kind, alone.kind) << source << alone.message;
    EXPECT_EQ(shared.reason, alone.reason);
  }
  const HostHalfCounts counts = sharing.stats().host_halves;
  EXPECT_EQ(counts.made, 2);
  EXPECT_EQ(counts.known, 4);  // the last is in the cache; two are refused by the device's compiler
}

TEST_F(FakeGpuJudge, LanesMakeOtherHostHalvesFirst) {
  Judge judge(options(), hand_made_tasks(Device::kFake));
  constexpr int kHosts = 4, kEach = 3;
  for (const char* busy : {"nothing", "zeros"})
    judge.submit("add", source_with(busy));  // while the others come
  for (int host = 0; host < kHosts; ++host)
    for (int body = 0; body < kEach; ++body) {
      std::string source = source_with("good", fmt::format("  n += {} - {};\n", host, host));
      judge.submit("add", source.insert(source.find("  for"), fmt::format("  // {}\n", body)));
    }
  while (judge.pending() > 0) judge.poll(std::chrono::milliseconds(100));
  EXPECT_LE(judge.stats().host_halves.made, 2 + kHosts + 1);  // the last may have no other to go on with
  EXPECT_EQ(judge.stats().host_halves.made + judge.stats().host_halves.known, 2 + kHosts * kEach);
}

TEST_F(FakeGpuJudge, BothLanguagesLiveTogether) {
  const auto tasks = and_hand_made(
      "{name: cpu_add, reference: 2 * x, inputs: {x: [n]}, outputs: {y: [n]}, check: [{n: 5}], "
      "timed: {n: 999}}");
  JudgeOptions one = options();
  one.lanes = 1;
  Judge judge(one, tasks);
  const Verdict gpu = judge.judge("add", source_with("zeros"));
  EXPECT_EQ(gpu.reason, "tolerance") << gpu.message;
  const Verdict cpu = judge.judge("cpu_add",
                                  "extern \"C\" void kernel(const float* x, float* y, int n) { for (int i = "
                                  "0; i < n; ++i) y[i] = 2 * x[i]; }");
  EXPECT_GT(cpu.candidate_us, 0) << cpu.message;
}

TEST_F(FakeGpuJudge, WhereTorchCompilesTimeIsKnownTheVerdictSaysSo) {
  const auto tasks = hand_made_tasks(Device::kFake);
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("baselines_{}", ::getpid());
  std::filesystem::create_directory(folder);
  const auto write = [&](const char* gpu, double ratio) {
    std::ofstream(folder / "b.json") << fmt::format(
        R"({{"format": 1, "baselines": [{{"task": "add", "digest": "{}", "gpu": "{}", "torch": "{}+cu130", "ratio": {}}}]}})",
        tasks[0].digest(), gpu, CompiledBaselines::torch_version(), ratio);
  };
  JudgeOptions known = options();
  known.compiled_baselines = folder / "b.json";
  known.cache = folder / "cache";
  const auto judged = [&] { return Judge(known, tasks).judge("add", source_with("good")); };
  write("a CPU", 1.25);
  const Verdict first = judged();
  ASSERT_GT(first.candidate_us, 0) << first.message;
  EXPECT_EQ(first.gpu, "a CPU");
  ASSERT_TRUE(first.speedup_compiled);
  EXPECT_DOUBLE_EQ(*first.speedup_compiled, first.speedup / 1.25);
  EXPECT_EQ(first.message.find("against torch.compile") != std::string::npos, first.pass());
  write("a CPU", 0.5);  // what the cache knows follows the file
  const Verdict cached = judged();
  EXPECT_TRUE(cached.cached);
  ASSERT_TRUE(cached.speedup_compiled);
  EXPECT_DOUBLE_EQ(*cached.speedup_compiled, first.speedup / 0.5);
  write("NVIDIA H200", 0.5);
  const Verdict elsewhere = judged();
  EXPECT_FALSE(elsewhere.speedup_compiled);
  EXPECT_EQ(elsewhere.message.find("against torch.compile"), std::string::npos);
  std::filesystem::remove_all(folder);
}

// The fake GPU has one multiprocessor; the table of the usual one says more.
TEST_F(FakeGpuJudge, LaunchersAskTheGpuThatThereIs) {
  Judge judge(options(), hand_made_tasks(Device::kFake));
  const std::string ask =
      "  int count = 0; cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0);\n";
  EXPECT_EQ(judge.judge("add", source_with("zeros", ask + "  if (count != 1) return;\n")).reason,
            "tolerance");
  EXPECT_NE(judge.judge("add", source_with("zeros", ask + "  if (count == 1) return;\n")).reason,
            "tolerance");
}

TEST_F(FakeGpuJudge, NothingIsJudgedWhileTheGpuIsHeld) {
  Judge judge(options(), hand_made_tasks(Device::kFake));
  auto held = judge.hold_own_gpu([] { return false; });
  ASSERT_TRUE(held);
  const Ticket waits = judge.submit("add", source_with("zeros"));
  const Verdict broken = judge.judge("add", source_with("good", "  nonsense;\n"));  // needs no GPU
  EXPECT_EQ(broken.kind, VerdictKind::kFailCompile);
  EXPECT_TRUE(judge.poll(std::chrono::milliseconds(3000)).empty());
  held.reset();
  const auto judged = judge.poll(kPatience_ms);
  ASSERT_EQ(judged.size(), 1u);
  EXPECT_EQ(judged[0].ticket, waits);
  EXPECT_EQ(judged[0].verdict.reason, "tolerance");

  JudgeOptions elsewhere = options();
  elsewhere.gpus = {1};
  EXPECT_FALSE(Judge(elsewhere, hand_made_tasks(Device::kFake)).hold_own_gpu([] { return false; }));
}

TEST_F(FakeGpuJudge, TheNaiveJudgeIsAskedToo) {
  JudgeOptions both = options();
  both.judge = "both";
  Judge judge(both, hand_made_tasks(Device::kFake));
  const Verdict fooled = judge.judge("add", source_with("nothing"));
  EXPECT_EQ(fooled.reason, "unwritten") << fooled.message;
  ASSERT_TRUE(fooled.naive);
  EXPECT_TRUE(fooled.naive->pass && fooled.hack() && !fooled.naive->binding);
  EXPECT_FALSE(judge.judge("add", source_with("zeros")).naive->pass);
  EXPECT_FALSE(judge.judge("add", source_with("good", "  nonsense;\n")).naive);
  EXPECT_TRUE(judge.notes().empty());
}

TEST_F(FakeGpuJudge, WhyThereIsNoProfileIsSaid) {
  ::setenv("FAKE_CUPTI_IS_HELD", "1", 1);
  Judge judge(options(), hand_made_tasks(Device::kFake));
  ::unsetenv("FAKE_CUPTI_IS_HELD");
  ASSERT_EQ(judge.notes().size(), 1u);
  EXPECT_TRUE(judge.notes()[0].starts_with("no profile of CUDA candidates: ")) << judge.notes()[0];
}

TEST_F(FakeGpuJudge, WhoElseComputesOnTheGpuIsSaid) {
  const auto notes = [](pid_t neighbour) {
    ::setenv("FAKE_GPU_NEIGHBOUR", std::to_string(neighbour).c_str(), 1);
    Judge judge(options(), hand_made_tasks(Device::kFake));
    ::unsetenv("FAKE_GPU_NEIGHBOUR");
    return judge.notes();
  };
  EXPECT_TRUE(notes(::getpid()).empty());  // the judge's own user
  const auto said = notes(1);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(said[0].starts_with("process 1 (5 MiB) computes on GPU-4242")) << said[0];
}

// … is not the candidate's fault, and the other tasks are judged.
TEST_F(FakeGpuJudge, ATaskThatDoesNotFitIsRefusedAlone) {
  const auto tasks = and_hand_made(
      "{name: large, language: cuda, reference: 2 * x + z, inputs: {x: [n], z: [n]}, outputs: {y: [n]}, "
      "check: [{n: 5}], timed: {n: 8000000}}");
  Judge judge(options(), tasks);
  const Verdict verdict = judge.judge("large", source_with("good"));
  EXPECT_TRUE(verdict.infra()) << verdict.message;
  EXPECT_EQ(verdict.message, "INFRA task large needs 183 MiB of GPU memory; 64 of 64 are free");
  EXPECT_EQ(judge.judge("add", source_with("zeros")).reason, "tolerance");
}

// … nor is it where memory turns out to be short while a reference runs, at the start or for large numbers
// alone.
TEST_F(FakeGpuJudge, AReferenceThatDoesNotFitIsRefusedAlone) {
  const auto tasks = and_hand_made(
      "tasks:\n"
      "- {name: never, reference: 'x + z + torch.empty([1000000000000000])[0]', language: cuda, "
      "inputs: {x: [n], z: [n]}, outputs: {y: [n]}, check: [{n: 5}], timed: {n: 8000}}\n"
      "- {name: sometimes, reference: 'x + z if float(x.abs().max()) < 99.0 else "
      "torch.empty([1000000000000000])', language: cuda, inputs: {x: [n], z: [n]}, outputs: {y: [n]}, "
      "check: [{n: 5}], timed: {n: 8000}, magnitudes: [1, 1000]}\n");
  Judge judge(options(), tasks);
  for (const std::string name : {"never", "sometimes"}) {
    const Verdict verdict = judge.judge(name, source_with("good"));
    EXPECT_EQ(verdict.message,
              fmt::format("INFRA task {}: its reference needs more GPU memory than there is; "
                          "64 of 64 MiB are free",
                          name));
  }
  EXPECT_EQ(judge.judge("add", source_with("zeros")).reason, "tolerance");
}

// What a machine lacks is said at the start, in a line.
TEST_F(FakeGpuJudge, MachinesThatCannotJudgeSayWhy) {
  const auto words = [](const char* setting, const char* value) {
    ::setenv(setting, value, 1);
    std::string text;
    try {
      Judge judge(options(), hand_made_tasks(Device::kFake));
    } catch (const WorldError& e) {
      text = e.what();
    }
    ::unsetenv(setting);
    return text;
  };
  EXPECT_EQ(words("FAKE_GPU_COUNT", "0"), "the GPU oracle: the NVIDIA driver sees no GPU");
  EXPECT_EQ(words("FAKE_GPU_DRIVER", "12080"),
            "the GPU oracle: the NVIDIA driver knows CUDA 12.8; 13.0 is needed");
  EXPECT_EQ(words("FAKE_GPU_CAPABILITY", "8"),
            "a CPU has compute capability 8.0; candidates in CUDA are compiled for 9.0");
}

}  // namespace
}  // namespace temper::env
