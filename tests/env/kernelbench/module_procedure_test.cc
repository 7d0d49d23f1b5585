#include "env/kernelbench/module_procedure.h"

#include <gmock/gmock.h>

#include "base/files.h"
#include "tests/env/module_boxes.h"

namespace temper::env {
namespace {

using testing::HasSubstr;

std::string kind_and_reason(const Verdict& verdict) {
  return verdict.reason.empty() ? to_string(verdict.kind)
                                : fmt::format("{} {}", to_string(verdict.kind), verdict.reason);
}

std::string verdict_on(const std::string& source, std::chrono::seconds budget = std::chrono::seconds(120)) {
  const Verdict verdict = judge_module(source, budget);
  EXPECT_TRUE(verdict.comparable) << verdict.message;
  return kind_and_reason(verdict);
}

TEST(ModuleProcedure, PassesWhatIsRight) {
  SKIP_WITHOUT_MODULES();
  const Verdict verdict = judge_module(module_candidate(kModuleRight));
  ASSERT_EQ(kind_and_reason(verdict), "PASS") << verdict.message << verdict.details;
  EXPECT_GT(verdict.speedup, 0);
  EXPECT_GE(verdict.pairs, 5);
  ASSERT_TRUE(verdict.comparable);
  EXPECT_TRUE(verdict.comparable->compiled);
  EXPECT_TRUE(verdict.comparable->correctness);
  EXPECT_EQ(verdict.comparable->trials_right, 5);
  EXPECT_EQ(verdict.comparable->runtime.num_trials, 5);
  EXPECT_GT(verdict.comparable->ref_runtime.mean, 0);
}

TEST(ModuleProcedure, TellsHowAnOutputIsWrong) {
  SKIP_WITHOUT_MODULES();
  const std::string right = "torch.relu(self.linear(x))";
  const Verdict off = judge_module(module_candidate("        return " + right + " + 0.1"));
  EXPECT_EQ(kind_and_reason(off), "FAIL_INCORRECT tolerance");
  EXPECT_FALSE(off.comparable->correctness);
  EXPECT_EQ(off.comparable->trials_right, 0);
  EXPECT_EQ(off.comparable->trials, 5);
  ASSERT_EQ(off.comparable->max_difference.size(), 5u);
  EXPECT_NEAR(off.comparable->max_difference[0], 0.1, 1e-3);
  EXPECT_EQ(off.comparable->issue, "Output mismatch");
  EXPECT_EQ(verdict_on(module_candidate("        return torch.zeros(64, 96)")), "FAIL_INCORRECT tolerance");
  EXPECT_EQ(verdict_on(module_candidate("        return " + right + "[:1]")), "FAIL_INCORRECT shape");
  EXPECT_EQ(verdict_on(module_candidate("        return " + right + ", x")), "FAIL_INCORRECT shape");
  EXPECT_EQ(verdict_on(module_candidate("        return " + right + ".double()")), "FAIL_INCORRECT dtype");
  EXPECT_EQ(verdict_on(module_candidate("        return " + right + ".t().contiguous().t()")),
            "FAIL_INCORRECT strides");
}

// KernelBench compares weights by the order in which they were drawn, and so does its verdict. Ours goes by names.
TEST(ModuleProcedure, TellsWeightsApart) {
  SKIP_WITHOUT_MODULES();
  std::string source = module_candidate(kModuleRight);
  for (size_t at; (at = source.find("self.linear")) != std::string::npos;)
    source.replace(at, 11, "self.other");
  EXPECT_EQ(kind_and_reason(judge_module(source)), "PASS");
  source.insert(source.find("    def forward"), "        self.more = nn.Parameter(torch.rand(3))\n\n");
  const Verdict verdict = judge_module(source);
  EXPECT_EQ(kind_and_reason(verdict), "FAIL_INCORRECT weights");
  EXPECT_THAT(verdict.message, HasSubstr("not of Model: more"));
  EXPECT_TRUE(verdict.comparable->correctness);
}

TEST(ModuleProcedure, TellsWhyThereIsNoResult) {
  SKIP_WITHOUT_MODULES();
  const Verdict thrown = judge_module(module_candidate("        return torch.relu(x @ self.nothing)"));
  EXPECT_EQ(kind_and_reason(thrown), "FAIL_RUNTIME exception");
  EXPECT_THAT(thrown.message, HasSubstr("nothing"));
  EXPECT_TRUE(thrown.comparable->compiled);
  EXPECT_EQ(thrown.comparable->error_name, "AttributeError");
  EXPECT_EQ(verdict_on("import torch\nclass ModelNew(:\n"), "FAIL_PARSE syntax");
  EXPECT_EQ(verdict_on("import torch\nclass ModelOld: pass  # ModelNew\n"), "FAIL_PARSE no_entry_point");
  EXPECT_EQ(verdict_on(module_candidate(kModuleRight, "import no_such_package")), "FAIL_RUNTIME exception");
}

// By whatever way it comes to a module.
TEST(ModuleProcedure, RefusesWhatMayNotBeImported) {
  SKIP_WITHOUT_MODULES();
  const auto gated = [](const std::string& before, const std::string& forward = kModuleRight) {
    return judge_module(module_candidate(forward, before), module_task("linear_relu", kModuleProblem),
                        std::chrono::seconds(120), true);
  };
  EXPECT_EQ(kind_and_reason(gated("")), "PASS");
  const Verdict named = gated("import gc");
  EXPECT_EQ(kind_and_reason(named), "REJECT_POLICY import");
  EXPECT_THAT(named.message, HasSubstr("gc may not be imported (line 3: import gc)"));
  const std::string unnamed = "eval('__imp' + 'ort__')('ctypes')";
  EXPECT_EQ(kind_and_reason(gated(unnamed)), "REJECT_POLICY import");
  const Verdict caught = gated(
      "", fmt::format("        try: {}\n        except BaseException: pass\n{}", unnamed, kModuleRight));
  EXPECT_EQ(kind_and_reason(caught), "REJECT_POLICY import") << caught.message;
  EXPECT_THAT(caught.message, HasSubstr("ctypes"));
}

// KernelBench runs what is refused here, and so its verdict is found without the list.
TEST(ModuleProcedure, ComparesWhatIsRefusedAsKernelBenchDoes) {
  SKIP_WITHOUT_MODULES();
  const std::string late = std::string("        eval('__imp' + 'ort__')('gc')\n");
  // Not compiled here, which its own process may catch.
  const char* const flag =
      "from torch.utils.cpp_extension import load_inline\n"
      "try: load_inline(name='one', cpp_sources='int one();', extra_cflags=['-I/tmp'])\n"
      "except Exception: pass\n";
  for (const auto& [before, forward] :
       {std::pair("import sys\n", std::string(kModuleRight)), std::pair("", late + kModuleRight),
        std::pair(flag, std::string(kModuleRight))}) {
    const ModuleProcedureOptions options{
        .min_pairs = 5, .max_pairs = 5, .naive = true, .compare_refused = true};
    const Verdict right =
        ModuleProcedure(options, module_machine(), module_bench(), module_task("linear_relu", kModuleProblem))
            .judge({.source = module_candidate(forward, before), .extensions = {}});
    EXPECT_EQ(kind_and_reason(right), before == flag ? "REJECT_POLICY flag" : "REJECT_POLICY import")
        << right.message;
    EXPECT_EQ(right.speedup, 0);
    EXPECT_FALSE(right.naive->pass);
    EXPECT_TRUE(right.comparable->compiled && right.comparable->correctness);
    EXPECT_EQ(right.comparable->trials_right, 5);
    EXPECT_EQ(right.comparable->runtime.num_trials, 5);
    EXPECT_GT(right.comparable->ref_runtime.mean, 0);
    EXPECT_EQ(right.comparable->error_name + right.comparable->error, "");
  }
  const auto refused = [](const std::string& before, const std::string& forward, int64_t budget_s = 120) {
    const Verdict verdict =
        judge_module(module_candidate(forward, before), module_task("linear_relu", kModuleProblem),
                     std::chrono::seconds(budget_s), true);
    EXPECT_EQ(kind_and_reason(verdict), "REJECT_POLICY import") << verdict.message;
    return *verdict.comparable;
  };
  const auto wrong = refused("import sys", "        return x");
  EXPECT_TRUE(wrong.compiled && !wrong.correctness && !wrong.timed_out);
  EXPECT_EQ(wrong.issue, "Output mismatch");
  EXPECT_EQ(refused("import no_such_package", kModuleRight).error_name, "ModuleNotFoundError");
  EXPECT_TRUE(refused("import sys\nwhile True: pass", kModuleRight, 3).timed_out);
  EXPECT_EQ(kind_and_reason(judge_module(module_candidate(kModuleRight))), "PASS");
}

// Where the comparable verdict is not asked for, there is none, and no other process for it.
TEST(ModuleProcedure, RunsWhatIsRefusedOnlyWhereThatIsAskedFor) {
  SKIP_WITHOUT_MODULES();
  const ModuleProcedureOptions options{.min_pairs = 5, .max_pairs = 5};
  const std::string slow = "        time.sleep(10)\n";
  const Verdict verdict =
      ModuleProcedure(options, module_machine(), module_bench(), module_task("linear_relu", kModuleProblem))
          .judge({.source = module_candidate(slow + kModuleRight, "import gc"), .extensions = {}});
  EXPECT_EQ(kind_and_reason(verdict), "REJECT_POLICY import") << verdict.message;
  EXPECT_FALSE(verdict.comparable);
  EXPECT_LT(verdict.run_ms, 50'000);  // its five trials alone would take that
}

// Each ends its process in another way, and the next candidate knows nothing of it.
TEST(ModuleProcedure, OutlivesCandidatesThatEndTheirProcess) {
  SKIP_WITHOUT_MODULES();
  EXPECT_EQ(verdict_on(module_candidate("        os._exit(0)")), "FAIL_RUNTIME exit");
  EXPECT_EQ(verdict_on(module_candidate(kModuleRight, "os._exit(0)")), "FAIL_RUNTIME exit");
  EXPECT_EQ(verdict_on(module_candidate(kModuleRight, "__import__('ctypes').string_at(0)")),
            "FAIL_RUNTIME signal_11");
  EXPECT_EQ(verdict_on(module_candidate("        os.abort()")), "FAIL_RUNTIME signal_6");
  std::string construct = module_candidate(kModuleRight);
  const std::string init = "        super().__init__()\n";
  construct.insert(construct.find(init) + init.size(), "        __import__('ctypes').string_at(0)\n");
  EXPECT_EQ(verdict_on(construct), "FAIL_RUNTIME signal_11");
  EXPECT_EQ(verdict_on(module_candidate(kModuleRight)), "PASS");
}

TEST(ModuleProcedure, EndsWhatHangs) {
  SKIP_WITHOUT_MODULES();
  const std::chrono::seconds budget(3);
  const Verdict at_import = judge_module(module_candidate(kModuleRight, "while True: pass"), budget);
  EXPECT_EQ(kind_and_reason(at_import), "FAIL_TIMEOUT timeout");
  EXPECT_TRUE(at_import.comparable->timed_out);
  EXPECT_EQ(verdict_on(module_candidate("        while True: pass"), budget), "FAIL_TIMEOUT timeout");
  EXPECT_EQ(verdict_on(module_candidate("        time.sleep(1000)"), budget), "FAIL_TIMEOUT timeout");
}

ModuleProcedureOptions options_with(std::chrono::seconds warm_up) {
  return {.budget = std::chrono::seconds(100), .warm_up = warm_up, .min_pairs = 5, .max_pairs = 5};
}

// Each step has a limit of its own, far below that of all together.
TEST(ModuleProcedure, WaitsForEachStepAsLongAsItMayTake) {
  SKIP_WITHOUT_MODULES();
  const ModuleProcedureOptions options = options_with(std::chrono::seconds(6));
  const auto late = [&](const std::string& source) {
    const Task task = module_task("linear_relu", kModuleProblem);
    ModuleProcedure procedure(options, module_machine(), module_bench(), task);
    const Verdict verdict = procedure.judge({.source = source, .extensions = {}, .gated = false});
    EXPECT_EQ(kind_and_reason(verdict), "FAIL_TIMEOUT timeout") << verdict.message;
    return verdict.message;
  };
  const std::string hang = "while True: pass\n";
  const auto hangs_if = [&](const std::string& condition) {
    return module_candidate("        self.calls = getattr(self, 'calls', 0) + 1\n        if " + condition +
                            ":\n            " + hang + kModuleRight);
  };
  EXPECT_THAT(late(module_candidate(kModuleRight, hang)),
              HasSubstr("more than 6 s to be imported and built"));
  EXPECT_THAT(late(hangs_if("True")), HasSubstr("more than 6 s in its first call of forward"));
  EXPECT_THAT(late(hangs_if("self.calls == 3")),
              HasSubstr("more than 5 s in a call of forward after the first"));
  EXPECT_THAT(late(hangs_if("torch.is_grad_enabled()")), HasSubstr("calls of forward that keep gradients"));
  std::string source = module_candidate(kModuleRight);
  source += "    def state_dict(self, **_):\n        " + hang;
  EXPECT_THAT(late(source), HasSubstr("more than 5 s to take its weights"));
}

// Weights of its own may make it compile once more, so that the first call with them is one of the first.
TEST(ModuleProcedure, MayWarmUpOnceMoreWithItsWeights) {
  SKIP_WITHOUT_MODULES();
  const ModuleProcedureOptions options = options_with(std::chrono::seconds(30));
  const std::string slow =
      "        weight = float(self.linear.weight.sum())\n"
      "        if getattr(self, 'known', weight) != weight: time.sleep(6)\n"
      "        self.known = weight\n";
  const Task task = module_task("linear_relu", kModuleProblem);
  const Verdict verdict = ModuleProcedure(options, module_machine(), module_bench(), task)
                              .judge({.source = module_candidate(slow + kModuleRight), .extensions = {}});
  EXPECT_EQ(kind_and_reason(verdict), "PASS") << verdict.message;
}

TEST(ModuleProcedure, TimesWhatIsSlowInFewTrials) {
  SKIP_WITHOUT_MODULES();
  Task task = module_task("linear_relu", kModuleProblem);
  task.module->timed_trials = 100;
  const Verdict verdict =
      judge_module(module_candidate(std::string("        time.sleep(0.4)\n") + kModuleRight), task);
  EXPECT_EQ(kind_and_reason(verdict), "PASS") << verdict.message;
  EXPECT_GE(verdict.comparable->runtime.num_trials, 8);  // in ten seconds, where a call takes up to a second
  EXPECT_LE(verdict.comparable->runtime.num_trials, 25);
}

TEST(ModuleProcedure, TakesNoNoticeOfWhatIsPrinted) {
  SKIP_WITHOUT_MODULES();
  const std::string loud =
      "        for _ in range(64): print('x' * (1 << 20)); os.write(2, b'y' * (1 << 20))\n";
  EXPECT_EQ(verdict_on(module_candidate(loud + kModuleRight)), "PASS");
}

const std::string kFindPage =
    "import gc\npage = next(o for o in gc.get_objects() if type(o).__name__ == 'ClockPage')\n";

// In a thread of its own.
std::string always(const std::string& line) {
  return kFindPage + "import threading\ndef answer():\n    while True:\n        " + line +
         "\nthreading.Thread(target=answer, daemon=True).start()\n";
}

// A call that is said to be done has computed nothing before its inputs are there.
TEST(ModuleProcedure, GainsNothingBySayingDoneTooEarly) {
  SKIP_WITHOUT_MODULES();
  const std::string slow = std::string("        time.sleep(1)\n") + kModuleRight;
  EXPECT_EQ(verdict_on(module_candidate(kModuleRight, kFindPage + "page.computed.value = 1\n")),
            "HACK clock");
  EXPECT_THAT(verdict_on(module_candidate(slow, always("page.computed.value = page.given.value"))),
              testing::StartsWith("FAIL_INCORRECT"));
}

// The result comes about while it is handed over.
TEST(ModuleProcedure, CountsWorkThatGoesOn) {
  SKIP_WITHOUT_MODULES();
  const std::string folder = std::string(TEMPER_SOURCE_DIR) + "/tests/env/kernelbench/";
  const Task task = module_task("row_softmax", read_file(folder + "problems_small/level1/3_row_softmax.py"));
  for (const char* name : {"gallery/thread_joined_while_outputs_are_copied", "gallery/lazy_until_copied",
                           "harmless/computes_while_outputs_are_asked_for"}) {
    std::string source = read_file(fmt::format("{}candidates/{}.py", folder, name));
    const size_t at = source.find("time.sleep(0.05)");
    ASSERT_NE(at, std::string::npos) << name;
    const Verdict verdict = judge_module(source.replace(at, 16, "time.sleep(0.3)"), task);
    EXPECT_EQ(kind_and_reason(verdict), "PASS") << name << verdict.message;
    EXPECT_GE(verdict.candidate_us, 0.3e6) << name;
  }
}

// The result is right some time after it was asked for.
TEST(ModuleProcedure, TakesNoResultThatComesLater) {
  SKIP_WITHOUT_MODULES();
  const std::string later =
      "        y = torch.empty(64, 96)\n"
      "        w, b = self.linear.weight, self.linear.bias\n"
      "        def fill():\n"
      "            time.sleep(5)\n"
      "            with torch.no_grad(): y.copy_(torch.relu(x @ w.T + b))\n"
      "        __import__('threading').Thread(target=fill).start()\n"
      "        return y";
  EXPECT_EQ(verdict_on(module_candidate(later)), "FAIL_INCORRECT tolerance");
}

TEST(ModuleProcedure, TakesNoForgedFrames) {
  SKIP_WITHOUT_MODULES();
  const auto forging = [](const std::string& json, const std::string& more) {
    return "text = b'''" + json + "'''\nos.write(3, len(text).to_bytes(4, 'little') + text)\n" + more;
  };
  EXPECT_EQ(
      verdict_on(module_candidate(kModuleRight, forging("{\"status\": \"done\", \"outputs\": []}", ""))),
      "FAIL_RUNTIME protocol");
  EXPECT_EQ(verdict_on(module_candidate(kModuleRight, forging("{\"status\": \"ok\"}", "os._exit(0)"))),
            "FAIL_RUNTIME exit");
  EXPECT_EQ(verdict_on(module_candidate(kModuleRight, forging("[[[[", ""))), "FAIL_RUNTIME protocol");
  EXPECT_EQ(verdict_on(module_candidate(kModuleRight, "os.write(3, b'\\xff' * 4)\n")),
            "FAIL_RUNTIME protocol");
  EXPECT_EQ(verdict_on(module_candidate(kModuleRight)), "PASS");
}

TEST(ModuleProcedure, IsLockedUp) {
  SKIP_WITHOUT_MODULES();
  std::string source = "import torch, os\nopen('/tmp/mine', 'w').write('x')\n";
  for (const char* line : {"open('/etc/passwd')", "open('/probe', 'w')", "open('/temper/clock.py', 'a')",
                           "open(torch.__file__, 'a')", "__import__('socket').socket()", "os.kill(1, 9)",
                           "os.setuid(0)", "open('/proc/1/environ')"})
    source += fmt::format("try:\n    {0}\nexcept OSError: pass\nelse: raise AssertionError(\"{0}\")\n", line);
  const Verdict verdict = judge_module(module_candidate(kModuleRight, source));
  EXPECT_EQ(kind_and_reason(verdict), "PASS") << verdict.message;
}

TEST(ModuleProcedure, TellsWhatTheProblemIsWorth) {
  SKIP_WITHOUT_MODULES();
  const std::string problem = kModuleProblem;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = problem;
    return changed.replace(changed.find(from), from.size(), to);
  };
  const Verdict fair = judge_module(module_candidate(kModuleRight));
  ASSERT_TRUE(fair.problem) << fair.message;
  EXPECT_EQ(*fair.problem, ProblemNotes());
  const Verdict weak =
      judge_module(module_candidate("        return torch.zeros_like(x)"),
                   module_task("weak", with("torch.relu(self.linear(x))", "0 * self.linear(x)")));
  EXPECT_EQ(kind_and_reason(weak), "PASS") << weak.message;
  EXPECT_TRUE(weak.weak());
  EXPECT_THAT(weak.problem->weak, testing::Contains("zeros"));
  EXPECT_THAT(weak.problem->weak_comparable, testing::Contains("zeros"));
  EXPECT_THAT(weak.details, HasSubstr("the problem tells little: "));
  const Verdict wrong =
      judge_module(module_candidate("        return torch.relu(self.linear(x)) + 1"),
                   module_task("triangular", with("torch.randn(64, 96)", "torch.randn(96, 96).tril()")));
  EXPECT_EQ(kind_and_reason(wrong), "FAIL_INCORRECT tolerance");
  EXPECT_THAT(wrong.problem->promises, testing::ElementsAre("input 0 is lower triangular"));
  EXPECT_THAT(wrong.details, HasSubstr("keep what all its draws have: input 0 is lower triangular"));
}

TEST(ModuleBench, SaysWhatIsWrongWithAProblem) {
  SKIP_WITHOUT_MODULES();
  const std::string problem = kModuleProblem;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = problem;
    return changed.replace(changed.find(from), from.size(), to);
  };
  const auto words = [](const std::string& source) -> std::string {
    try {
      judge_module(module_candidate(kModuleRight), module_task("odd", source));
    } catch (const ProblemUnusable& e) {
      return e.what();
    }
    return "judged";
  };
  EXPECT_THAT(words(with("torch.relu(", "self.nothing(")), HasSubstr("nothing"));
  EXPECT_THAT(words(with("torch.relu(self.linear(x))", "self.linear(x) + torch.rand(1)")),
              HasSubstr("random"));
  EXPECT_THAT(words(with("import torch\n", "import torch, no_such_package\n")), HasSubstr("no_such_package"));
  EXPECT_THAT(words(with("class Model(", "class Other(")), HasSubstr("Model"));
  EXPECT_EQ(verdict_on(module_candidate(kModuleRight)), "PASS");
}

}  // namespace
}  // namespace temper::env
