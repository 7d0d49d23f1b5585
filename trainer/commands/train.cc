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

// Asked before anything is begun: what only this machine can tell.
std::vector<Task> judged_tasks(const RunConfig& config) {
  return with_trace_tasks(config.traces, load_tasks(config), uint64_t(config.run.seed));
}

Plan prepare(RunConfig& config, bool dry, Communicator& ranks) {
  share_machine(config, ranks);
  use_device(config.model, starting_shape(config), ranks);
  check_tasks(config, load_tasks(config));
  const Plan plan = make_plan(config, starting_shape(config), ranks);
  if (dry && ranks.rank() == 0) fmt::print("{}\n{}", to_yaml(config), to_text(plan));
  check_fits(plan);
  if (!dry && ranks.rank() == 0) check_run_directory(config);
  return plan;
}

int run_train(RunConfig& config, const Plan& plan, bool dry, Communicator& ranks) {
  if (dry) return kExitOk;
  connect_devices(config.model, ranks);
  use_threads(config.run.threads);
  Judge judge(config.env, judged_tasks(config));
  Run run(config, ranks);
  judge.keep_journal(run.journal(), run.known_verdict_bytes());
  say_start(config, judge, ranks);
  run.say_start();
  say_memory(plan);
  train(config, judge, run);
  return any_interrupted(ranks) ? kExitInterrupted : kExitOk;
}

}  // namespace

void add_train(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("train", "teach a policy: cold start, reinforcement learning, evaluation");
  const auto words = std::make_shared<ConfigWords>();
  const auto dry = std::make_shared<bool>(false);
  declare_config(*command, *words);
  command->add_flag("--dry-run", *dry, "print the resolved config, the memory plan and the cost of a step");
  const auto plan = std::make_shared<Plan>();
  command->callback([=, &exit_code] {
    exit_code = run_ranked(
        {[=] { return words->read(); }, judged_tasks,
         [=](RunConfig& config, Communicator& ranks) { *plan = prepare(config, *dry, ranks); },
         [=](RunConfig& config, Communicator& ranks) { return run_train(config, *plan, *dry, ranks); }});
  });
}

}  // namespace temper
