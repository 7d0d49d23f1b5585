#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "policy/threads.h"
#include "rollout/trajectory_file.h"
#include "trainer/app/checks.h"
#include "trainer/app/commands/commands.h"
#include "trainer/app/ranks.h"
#include "trainer/cold_start/starting_model.h"
#include "trainer/config/device.h"
#include "trainer/evaluate/evaluate.h"
#include "trainer/evaluate/kernelbench_files.h"
#include "trainer/run/console.h"
#include "trainer/run/model.h"

namespace temper::trainer {
namespace {

std::vector<env::Task> evaluated_tasks(const RunConfig& config) { return load_tasks(config); }

void prepare_evaluation(RunConfig& config, policy::Communicator& ranks) {
  if (config.model.path.empty())
    throw ConfigError("model.path: eval needs a model; pass model.path=DIR, such as {}",
                      (config.run.path() / "checkpoints" / "final").string());
  published_baseline(config.eval);  // or throws, before anything is generated
  share_machine(config, ranks);
  use_device(config.model, starting_shape(config), ranks, config.rollout.max_context_tokens);
}

struct EvalOutputs {
  bool json = false;
  std::string trajectories, kernelbench;  // a file, a folder; or empty
};

// What KernelBench's scripts print of problems in PyTorch, and what they read.
void tell_modules(const RunConfig& config, const Evaluation& evaluation, const EvalOutputs& outputs) {
  if (!outputs.json)
    for (const std::string& line : module_table(module_ways(evaluation))) say_line(line);
  if (outputs.kernelbench.empty()) return;
  for (const auto& folder :
       write_kernelbench_files(outputs.kernelbench, config.run.name, module_ways(evaluation)))
    fmt::print(stderr, "{}\n", folder.string());
}

int run_eval(const RunConfig& config, policy::Communicator& ranks, const EvalOutputs& outputs) {
  connect_devices(config.model, ranks);
  policy::use_threads(config.run.threads);
  policy::PolicyOptions options = config.model.policy();
  options.ranks = &ranks;
  const policy::ChatSource chat = config.model.chat();
  Model model = load_model(config.model.path, options, &chat);
  warn_not_finite(model);
  env::JudgeOptions judging = config.env;
  judging.compare_refused = true;
  judging.compared = 1;
  env::Judge judge(judging, tasks_and_notes(config, ranks.rank() == 0));
  std::vector<rollout::Trajectory> kept;
  std::vector<rollout::Trajectory>* const keep = outputs.trajectories.empty() ? nullptr : &kept;
  const NamedEvaluation result{"policy", evaluate(model, judge, config, keep, progress_bar("eval"))};
  const auto curves = scale_at_test_time(model, judge, config, keep, progress_bar("scaling"));
  if (keep && ranks.rank() == 0)
    rollout::write_trajectories(outputs.trajectories, rollout::pointers_to(kept),
                                config.run.trajectories == "zstd");
  Metrics metrics;
  add_metrics(result.evaluation, metrics);
  add_metrics(curves, metrics);
  if (!outputs.json) {
    say_evaluations(config.eval.split, {result});
    if (!curves.empty()) say_scaling(curves);
  } else if (ranks.rank() == 0) {
    fmt::print("{}\n", nlohmann::json(metrics).dump(2));
  }
  if (ranks.rank() == 0) tell_modules(config, result.evaluation, outputs);
  return kExitOk;
}

}  // namespace

void add_eval(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("eval", "evaluate model.path on held-out tasks, sampled and greedy");
  const auto words = std::make_shared<ConfigWords>();
  const auto outputs = std::make_shared<EvalOutputs>();
  declare_config(*command, *words);
  command->add_flag("--json", outputs->json, "every figure as JSON");
  command
      ->add_option("--trajectories", outputs->trajectories,
                   "write what the policy wrote to this file, docs/reference/trajectories.md")
      ->transform(path_word());
  command
      ->add_option("--kernelbench", outputs->kernelbench,
                   "for problems in PyTorch: write what KernelBench's scripts read below this folder, "
                   "docs/how-to/kernelbench.md")
      ->transform(path_word());
  command->callback([=, &exit_code] {
    exit_code = run_ranked(
        {[=] { return read_to_sample(*words); }, evaluated_tasks, prepare_evaluation,
         [=](RunConfig& config, policy::Communicator& ranks) { return run_eval(config, ranks, *outputs); }});
  });
}

}  // namespace temper::trainer
