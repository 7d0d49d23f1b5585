#include "trainer/train.h"

#include <memory>

#include "base/error.h"
#include "base/process.h"
#include "policy/threads.h"
#include "trainer/commands/commands.h"
#include "trainer/console.h"
#include "trainer/device.h"
#include "trainer/plan.h"
#include "trainer/starting_model.h"

namespace temper {
namespace {

int dry_run(const RunConfig& config, const Plan& plan) {
  fmt::print("{}\n{}", to_yaml(config), to_text(plan));
  check_fits(plan);
  return kExitOk;
}

int run_train(const ConfigWords& words, bool dry) {
  RunConfig config = words.read();
  use_device(config.model, starting_shape(config));
  const std::vector<Task> tasks = load_tasks(config);
  check_tasks(config, tasks);
  const Plan plan = make_plan(config, starting_shape(config));
  if (dry) return dry_run(config, plan);
  check_fits(plan);
  check_run_directory(config);

  use_threads(config.run.threads);
  Judge judge(config.env, with_trace_tasks(config.traces, tasks, uint64_t(config.run.seed)));
  Run run(config);
  say_start(config, judge);
  train(config, judge, run);
  return interrupted() ? kExitInterrupted : kExitOk;
}

}  // namespace

void add_train(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("train", "teach a policy: cold start, reinforcement learning, evaluation");
  const auto words = std::make_shared<ConfigWords>();
  const auto dry = std::make_shared<bool>(false);
  declare_config(*command, *words);
  command->add_flag("--dry-run", *dry, "print the resolved config, the memory plan and the cost of a step");
  command->callback([=, &exit_code] { exit_code = run_train(*words, *dry); });
}

}  // namespace temper
