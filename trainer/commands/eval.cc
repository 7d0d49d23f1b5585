#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "policy/threads.h"
#include "trainer/commands/commands.h"
#include "trainer/console.h"
#include "trainer/device.h"
#include "trainer/model.h"
#include "trainer/starting_model.h"

namespace temper {
namespace {

int run_eval(const ConfigWords& words, bool json, const std::string& trajectories) {
  RunConfig config = words.read();
  if (config.model.path.empty())
    throw ConfigError("model.path: eval needs a model; pass model.path=DIR, such as {}",
                      (config.run.path() / "checkpoints" / "final").string());
  use_device(config.model, starting_shape(config));
  const std::vector<Task> tasks = load_tasks(config);
  use_threads(config.run.threads);
  Model model = load_model(config.model.path, config.model.policy());
  Judge judge(config.env, tasks);
  const NamedEvaluation result{"policy", evaluate(model, judge, config, trajectories, progress_bar("eval"))};
  Metrics metrics;
  add_metrics(result.evaluation, metrics);
  if (json)
    fmt::print("{}\n", nlohmann::json(metrics).dump(2));
  else
    say_evaluations(config.eval.split, {result});
  return kExitOk;
}

}  // namespace

void add_eval(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("eval", "evaluate model.path on held-out tasks, sampled and greedy");
  const auto words = std::make_shared<ConfigWords>();
  const auto json = std::make_shared<bool>(false);
  const auto trajectories = std::make_shared<std::string>();
  declare_config(*command, *words);
  command->add_flag("--json", *json, "every figure as JSON");
  command->add_option("--trajectories", *trajectories, "append what the policy wrote to this file");
  command->callback([=, &exit_code] { exit_code = run_eval(*words, *json, *trajectories); });
}

}  // namespace temper
