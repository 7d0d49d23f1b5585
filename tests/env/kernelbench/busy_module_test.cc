// Modules on a core that busy neighbours share, while the baseline has the others.

#include <gtest/gtest.h>

#include <optional>

#include "env/kernelbench/module_times.h"
#include "tests/env/busy_neighbours.h"
#include "tests/env/module_boxes.h"

namespace temper::env {
namespace {

// What is late is so by 0.3 s in each call. No core is away for so long, so that few calls tell it from waiting.
constexpr int kPairs = 15, kLatePairs = 7;

std::unique_ptr<CandidateProcess> ready_process(const std::string& source, const Task& task,
                                                const std::string& key) {
  module_bench().open(task);
  auto process = module_bench().take();
  const auto weights = [&](CandidateProcess& of) {
    of.allow(one_limit(std::chrono::seconds(120)));
    return of.take_weights(module_bench().reference().make_weights(ModuleRules::kStrict, key)).found;
  };
  process->allow(one_limit(std::chrono::seconds(120)));
  EXPECT_FALSE(process->take({.source = source, .extensions = {}, .gated = false}, task).found);
  EXPECT_FALSE(weights(*process));
  EXPECT_FALSE(weights(module_bench().baseline()));
  return process;
}

struct SeenPairs {
  ModulePairs pairs;
  std::string figures;  // of each call, microseconds
};

SeenPairs pairs_beside_neighbours(const std::string& source, int count) {
  const Task task = module_task("linear_relu", kModuleProblem);
  const std::string key = secret_key();
  const auto process = ready_process(source, task, key);
  module_bench().settle();
  const int core = last_core();
  move_to_core(process->pid(), core);
  const std::vector<BoxProcess> neighbours = busy_neighbours(core);
  SeenPairs seen;
  for (int i = 0; i < count; ++i) {
    const ModuleDraw draw{ModuleRules::kStrict, i, key};
    const auto made = module_bench().call(*process, draw);
    const auto baseline = module_bench().call(module_bench().baseline(), draw, true);
    EXPECT_FALSE(made.answer.found || baseline.answer.found);
    seen.pairs.add(made, baseline);
    for (const auto& [name, call] : {std::pair("module", &made), {"baseline", &baseline}})
      seen.figures += fmt::format("{}: {:.0f}, rest {:.0f}, waited {:.0f}, helpers {:.0f}\n", name, call->us,
                                  call->rest_us, call->waited_us, call->helpers_us);
  }
  return seen;
}

// A module whose result comes about while it is copied.
std::string late_module(const std::string& work) {
  const std::string before =
      "import threading\n"
      "results, copy = {}, torch.Tensor.copy_\n"
      "def compute():\n" +
      work +
      "def computed(own, other, *given):\n"
      "    if (result := results.pop(id(other), None)) is not None:\n"
      "        compute()\n"
      "        copy(other, result)\n"
      "    return copy(own, other, *given)\n";
  return module_candidate(
      "        torch.Tensor.copy_ = computed\n"
      "        result = torch.relu(x @ self.linear.weight.T + self.linear.bias)\n"
      "        y = torch.empty_like(result)\n"
      "        results[id(y)] = result\n"
      "        return y",
      before);
}

TEST(BusyModule, IsNotAccusedWhereItIsHonest) {
  SKIP_WITHOUT_MODULES();
  const SeenPairs seen = pairs_beside_neighbours(module_candidate(kModuleRight), kPairs);
  EXPECT_FALSE(seen.pairs.works_on()) << seen.figures;
  EXPECT_FALSE(seen.pairs.may_work_on()) << seen.figures;
}

TEST(BusyModule, IsFoundWhereItComputesLate) {
  SKIP_WITHOUT_MODULES();
  for (const char* work :
       {"    until = time.thread_time() + 0.3\n    while time.thread_time() < until: pass\n",
        "    time.sleep(0.3)\n"}) {
    const SeenPairs seen = pairs_beside_neighbours(late_module(work), kLatePairs);
    EXPECT_TRUE(seen.pairs.works_on()) << work << seen.figures;
  }
}

// It waits for the core on which its own thread computes, in few long operations: whoever hands Python's lock to and fro sleeps.
TEST(BusyModule, IsNotExcusedByThreadsOfItsOwn) {
  SKIP_WITHOUT_MODULES();
  const SeenPairs seen = pairs_beside_neighbours(
      late_module("    def multiply():\n"
                  "        until, ones = time.thread_time() + 0.3, torch.ones(1200, 1200)\n"
                  "        while time.thread_time() < until: ones @ ones\n"
                  "    thread = threading.Thread(target=multiply)\n"
                  "    thread.start()\n"
                  "    while thread.is_alive(): os.sched_yield()\n"),
      kLatePairs);
  EXPECT_TRUE(seen.pairs.works_on() || seen.pairs.may_work_on()) << seen.figures;
}

}  // namespace
}  // namespace temper::env
