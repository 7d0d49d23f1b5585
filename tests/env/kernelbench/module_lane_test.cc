// A whole judge on modules: on a core, where TEMPER_MODULE_DEVICE says so.

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/machine/child_process.h"
#include "base/machine/scratch_folder.h"
#include "env/judge/judge.h"
#include "env/kernelbench/module_build.h"
#include "tests/env/module_boxes.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

using testing::HasSubstr;

JudgeOptions module_judge_options() {
  ::setenv("TEMPER_MODULE_DEVICE", "cpu", 1);
  JudgeOptions options;
  options.lanes = 1;
  options.min_pairs = options.max_pairs = 5;
  options.compared = 1;
  options.compile_timeout_s = 10 * kPatience_s;  // extensions take a minute where nothing else runs
  return options;
}

TEST(ModuleJudge, JudgesModulesFromTheirSourceOn) {
  SKIP_WITHOUT_MODULES();
  const std::string broken = "import torch, no_such_package\n" + std::string(kModuleProblem);
  Judge judge(module_judge_options(),
              {module_task("linear_relu", kModuleProblem), module_task("broken", broken)});
  const Verdict right = judge.judge("linear_relu", module_candidate(kModuleRight));
  EXPECT_TRUE(right.pass()) << right.message << right.details;
  ASSERT_TRUE(right.comparable);
  EXPECT_TRUE(right.comparable->correctness);
  const Verdict odd = judge.judge("broken", module_candidate(kModuleRight));
  EXPECT_TRUE(odd.infra());
  EXPECT_THAT(odd.reason, HasSubstr("no_such_package"));
  const Verdict wrong = judge.judge("linear_relu", module_candidate("        return x"));
  EXPECT_EQ(wrong.kind, VerdictKind::kFailIncorrect) << wrong.message;
  const Verdict other = judge.judge("linear_relu", "def kernel(): pass\n");
  EXPECT_EQ(other.kind, VerdictKind::kFailParse) << other.message;
  EXPECT_THAT(judge.machine("kernelbench"), HasSubstr("torch"));
}

TEST(ModuleJudge, RefusesOtherTasksBesideModules) {
  SKIP_WITHOUT_MODULES();
  const auto others = parse_tasks(
      "{name: scale, language: cuda, reference: x * 2, inputs: {x: [n]}, outputs: {y: [n]}, "
      "check: [{n: 7}], timed: {n: 4096}}",
      "module_lane_test.cc");
  try {
    Judge judge(module_judge_options(), {module_task("linear_relu", kModuleProblem), others[0]});
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(),
                testing::AllOf(HasSubstr("'linear_relu'"), HasSubstr("'scale'"), HasSubstr("cuda")));
  }
}

// What is compiled for it, and found again where it runs.
TEST(ModuleJudge, CompilesExtensions) {
  SKIP_WITHOUT_MODULES();
  Judge judge(module_judge_options(), {module_task("linear_relu", kModuleProblem)});
  const std::string extension =
      "from torch.utils.cpp_extension import load_inline\n"
      "source = '''torch::Tensor rectified(torch::Tensor x) { return x.clamp_min(0); }'''\n"
      "built = load_inline(name='rectify', cpp_sources=source, functions=['rectified'])\n";
  const std::string forward = "        return built.rectified(self.linear(x))";
  const Verdict right = judge.judge("linear_relu", module_candidate(forward, extension));
  EXPECT_TRUE(right.pass()) << right.message << right.details;
  std::string broken = extension;
  broken.replace(broken.find("clamp_min"), 9, "no_method");
  const Verdict wrong = judge.judge("linear_relu", module_candidate(forward, broken));
  EXPECT_EQ(wrong.kind, VerdictKind::kFailCompile) << wrong.message;
  EXPECT_THAT(wrong.message, HasSubstr("no_method"));
}

// What the source shows costs no GPU. What only running shows does, and is not run a second time.
TEST(ModuleJudge, RefusesImportsBeforeAGpuIsNeeded) {
  SKIP_WITHOUT_MODULES();
  const ScratchFolder folder("refused");
  JudgeOptions options = module_judge_options();
  options.cache = (folder.path() / "verdicts.db").string();
  const std::vector<Task> tasks{module_task("linear_relu", kModuleProblem)};
  const std::string shown = module_candidate(kModuleRight, "import gc"),
                    hidden = module_candidate(kModuleRight, "eval('__imp' + 'ort__')('gc')");
  {
    Judge judge(options, tasks);
    const Verdict early = judge.judge("linear_relu", shown), late = judge.judge("linear_relu", hidden);
    for (const Verdict* verdict : {&early, &late}) {
      EXPECT_EQ(verdict->kind, VerdictKind::kRejectPolicy) << verdict->message;
      EXPECT_EQ(verdict->reason, "import");
      EXPECT_FALSE(verdict->comparable);
    }
    EXPECT_THAT(early.message, HasSubstr("gc may not be imported (line 3: import gc)"));
    EXPECT_EQ(early.run_ms, 0);
    EXPECT_GT(late.run_ms, 0);
  }
  options.compare_refused = true;
  Judge judge(options, tasks);
  for (const std::string& source : {shown, hidden}) {
    const Verdict verdict = judge.judge("linear_relu", source);
    EXPECT_EQ(verdict.kind, VerdictKind::kRejectPolicy) << verdict.message;
    ASSERT_TRUE(verdict.comparable);
    EXPECT_TRUE(verdict.comparable->correctness);
    EXPECT_FALSE(verdict.cached);
  }
}

TEST(ModuleGate, ReadsSourcesAndRunsNothing) {
  SKIP_WITHOUT_MODULES();
  ModuleGate gate(*module_options());
  const auto refused = [&](const std::string& source) {
    gate.prepare();
    const Found found = gate.refusal(source);
    return found ? fmt::format("{}: {}", found->reason, found->detail) : "";
  };
  EXPECT_EQ(refused(module_candidate(kModuleRight)), "");
  EXPECT_THAT(refused("import torch\nimport sys\n"),
              testing::StartsWith("import: sys may not be imported (line 2: import sys)"));
  EXPECT_THAT(refused("import torch\nx = torch._C.__globals__\n"), HasSubstr("__globals__ may not be used"));
  EXPECT_EQ(refused("import (\n"), "");
  EXPECT_EQ(refused("while True: pass\n"), "");
  EXPECT_EQ(refused("x = " + std::string(60'000, '-') + "1\n"), "");
  EXPECT_THAT(refused("import ctypes\n"), HasSubstr("ctypes"));
}

// There its headers and compilers would be out of a module's sight.
TEST(ModuleBox, RefusesAPythonInItsScratchFolder) {
  SKIP_WITHOUT_MODULES();
  const std::string folder = fmt::format("{}/temper-python-{}", kModuleScratch, ::getpid());
  const std::string make =
      "import importlib.util, os, subprocess, sys\n"
      "wheels = os.path.dirname(os.path.dirname(importlib.util.find_spec('torch').origin))\n"
      "subprocess.run([os.path.realpath(sys.executable), '-m', 'venv', '--without-pip', sys.argv[1]], "
      "check=True)\n"
      "version = '%d.%d' % sys.version_info[:2]\n"
      "with open(f'{sys.argv[1]}/lib/python{version}/site-packages/here.pth', 'w') as file: "
      "file.write(wheels)\n";
  ASSERT_TRUE(output_of(shell_word(module_options()->python.program) + " -E -s -c " + shell_word(make) + " " +
                        shell_word(folder))
                  .ok);
  try {
    module_box_options(folder + "/bin/python3");
    ADD_FAILURE();
  } catch (const WorldError& e) {
    EXPECT_THAT(e.what(), HasSubstr(fmt::format("reads {}", folder)));
    EXPECT_THAT(e.what(), HasSubstr("install Python and torch elsewhere"));
  }
  std::filesystem::remove_all(folder);
}

// What a candidate is not to answer for, and what it cannot claim.
TEST(ModuleBox, SaysWhatTheMachineLacksForExtensions) {
  SKIP_WITHOUT_MODULES();
  ModuleBoxOptions options = *module_options();
  const Task task = module_task("linear_relu", kModuleProblem);
  const std::string extension =
      "from torch.utils.cpp_extension import load_inline\n"
      "load_inline(name='one', cpp_sources='int one() { return 1; }', functions=['one'])\n";
  const std::string claim =
      "import json, os\nfrom torch.utils import cpp_extension\n"
      "words = json.dumps({'status': 'infra', 'message': 'x'}).encode()\n"
      "os.write(3, len(words).to_bytes(4, 'little') + words)\n";
  const ModuleBuilt claimed = ModuleBuilder(options, 10 * kPatience_ms).build(task, claim, "90a");
  ASSERT_TRUE(claimed.failure);
  EXPECT_NE(claimed.failure->kind, VerdictKind::kInfra);

  const ScratchFolder folder("no-headers");
  write_file((folder.path() / "sitecustomize.py").string(),
             "import sysconfig\nknown = sysconfig.get_path\n"
             "sysconfig.get_path = lambda name: '/nowhere' if name == 'include' else known(name)\n");
  options.python.wheels = folder.path().string();
  options.python.folders.push_back(options.python.wheels);
  try {
    ModuleBuilder(options, 10 * kPatience_ms).build(task, extension, "90a");
    ADD_FAILURE();
  } catch (const WorldError& e) {
    EXPECT_THAT(e.what(), HasSubstr("no Python.h in /nowhere"));
  }
}

}  // namespace
}  // namespace temper::env
