#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "policy/threads.h"
#include "rollout/trajectory_file.h"
#include "trainer/app/commands/commands.h"
#include "trainer/app/ranks.h"
#include "trainer/cold_start/starting_model.h"
#include "trainer/config/device.h"
#include "trainer/evaluate/evaluate.h"
#include "trainer/run/console.h"
#include "trainer/run/model.h"

namespace temper::trainer {
namespace {

std::vector<env::Task> evaluated_tasks(const RunConfig& config) { return load_tasks(config); }

void prepare_evaluation(RunConfig& config, policy::Communicator& ranks) {
  if (config.model.path.empty())
    throw ConfigError("model.path: eval needs a model; pass model.path=DIR, such as {}",
                      (config.run.path() / "checkpoints" / "final").string());
  share_machine(config, ranks);
  use_device(config.model, starting_shape(config), ranks, config.rollout.max_context_tokens);
}

int run_eval(const RunConfig& config, policy::Communicator& ranks, bool json,
             const std::string& trajectories) {
  connect_devices(config.model, ranks);
  policy::use_threads(config.run.threads);
  policy::PolicyOptions options = config.model.policy();
  options.ranks = &ranks;
  Model model = load_model(config.model.path, options, config.model.chat_format);
  warn_not_finite(model);
  env::Judge judge(config.env, evaluated_tasks(config));
  std::vector<rollout::Trajectory> kept;
  std::vector<rollout::Trajectory>* const keep = trajectories.empty() ? nullptr : &kept;
  const NamedEvaluation result{"policy", evaluate(model, judge, config, keep, progress_bar("eval"))};
  const auto curves = scale_at_test_time(model, judge, config, keep, progress_bar("scaling"));
  if (keep && ranks.rank() == 0)
    rollout::write_trajectories(trajectories, rollout::pointers_to(kept), config.run.trajectories == "zstd");
  Metrics metrics;
  add_metrics(result.evaluation, metrics);
  add_metrics(curves, metrics);
  if (!json) {
    say_evaluations(config.eval.split, {result});
    if (!curves.empty()) say_scaling(curves);
  } else if (ranks.rank() == 0) {
    fmt::print("{}\n", nlohmann::json(metrics).dump(2));
  }
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
  command->add_option("--trajectories", *trajectories,
                      "write what the policy wrote to this file, docs/reference/trajectories.md");
  command->callback([=, &exit_code] {
    exit_code = run_ranked({[=] { return read_with_model(*words); }, evaluated_tasks, prepare_evaluation,
                            [=](RunConfig& config, policy::Communicator& ranks) {
                              return run_eval(config, ranks, *json, *trajectories);
                            }});
  });
}

}  // namespace temper::trainer
