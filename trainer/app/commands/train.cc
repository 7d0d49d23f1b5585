#include "trainer/train.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/process.h"
#include "policy/cuda/device.h"
#include "policy/cuda/plan.h"
#include "policy/threads.h"
#include "trainer/app/commands/commands.h"
#include "trainer/app/ranks.h"
#include "trainer/cold_start/starting_model.h"
#include "trainer/config/device.h"
#include "trainer/evaluate/evaluate.h"
#include "trainer/plan/dry_run.h"
#include "trainer/plan/plan.h"
#include "trainer/plan/published_shapes.h"
#include "trainer/run/console.h"
#include "trainer/run/interrupted.h"

namespace temper::trainer {

using policy::Communicator;

namespace {

// Asked before anything is begun: what only this machine can tell.
std::vector<env::Task> judged_tasks(const RunConfig& config) {
  return traces::with_trace_tasks(config.traces, load_tasks(config), uint64_t(config.run.seed));
}

// A plan's standard output is its options.
void say_data(const CheckedData& data) {
  for (const std::string& line : data.lines) say_beside(line);
}

// Makes all checks that are possible before anything is begun, and plans what the run will take. `goes_on` says
// that there is a checkpoint to resume from, so that the other checks passed at the run's first start. `tells`:
// says what data are there.
Plan check_and_plan(RunConfig& config, Communicator& ranks, bool goes_on, bool tells) {
  share_machine(config, ranks);
  const policy::ModelConfig shape = starting_shape(config);
  use_device(config.model, shape, ranks, config.rollout.max_context_tokens);
  const std::vector<env::Task> tasks = tasks_and_notes(config, ranks.rank() == 0);
  check_tasks(config, tasks);
  published_baseline(config.eval);  // or throws
  RunConfig planned = config;       // a conversation longer than a pack is one by itself
  const CheckedData data = check_data(config, shape, &ranks);
  if (tells) say_data(data);
  planned.cold_start.micro_batch_tokens = std::max(config.cold_start.micro_batch_tokens, data.longest);
  if (ranks.rank() == 0 && !goes_on) check_start(config, shape, tasks, true);
  const PlanSite site = site_here(config, ranks);
  return make_plan(planned, shape, site, judge_plan(planned, shape, tasks, site));
}

// Problems that do not fit on some rank. Their memories may differ, and what is asked must not.
std::vector<std::string> too_large_for_some(const Plan& plan, Communicator& ranks) {
  std::string mine;
  for (const TooLarge& one : plan.judge.left_out) mine += one.task + "\n";
  std::set<std::string> all;
  for (const std::string& names : ranks.all_gather(mine, "problems that do not fit")) {
    std::istringstream lines(names);
    for (std::string name; std::getline(lines, name);) all.insert(name);
  }
  return {all.begin(), all.end()};
}

// True on rank 0 where the run in the directory is complete: then nothing is to be done.
bool prepare(RunConfig& config, Communicator& ranks, Plan& plan) {
  bool goes_on = false;
  try {
    if (ranks.rank() == 0) goes_on = check_run_directory(config).kind == RunStart::Kind::kCheckpoint;
  } catch (const RunIsComplete& complete) {
    say_line(complete.what());
    return true;
  }
  plan = check_and_plan(config, ranks, goes_on, false);
  check_fits(plan);
  config.model.memory.phases = plan.apart ? "apart" : "together";
  return false;
}

// Prints the config on standard output, from where it can be read back, and remarks on standard error.
void print_plan(const RunConfig& config, const Plan& plan) {
  fmt::print("{}", to_yaml(config));  // written when the command ends, which tells whether all of it was
  fmt::print(stderr, "{}", to_text(plan));
  if (const std::string why = misfit(plan); !why.empty()) throw ConfigError("{}", why);
}

// Prints how the run would begin. Errors about the directory are not a reason to refuse a plan.
void say_how_it_would_begin(const RunConfig& config) try {
  const RunStart start = check_run_directory(config);
  if (start.kind == RunStart::Kind::kFork)
    for (const std::string& line : fork_lines(config, read_checkpoint(start.checkpoints.front())))
      fmt::print(stderr, "{}\n", line);
} catch (const RunIsComplete& complete) {
  fmt::print(stderr, "a run would end at once: {}\n", complete.what());
} catch (const std::exception& e) {
  fmt::print(stderr, "a run would be refused: {}\n", e.what());
}

// Prints the config as it was read, not as this machine would have it.
void dry_run(RunConfig& config, Communicator& ranks) {
  const RunConfig as_read = config;
  const Plan plan = check_and_plan(config, ranks, false, true);
  if (ranks.rank() > 0) return;
  print_plan(as_read, plan);
  say_how_it_would_begin(config);
}

// For a machine that is not here, from layouts alone.
int plan_for(RunConfig config, const std::string& machine) {
  const PlanSite site = site_named(machine);
  if (std::filesystem::is_directory(config.model.path))
    config.model.path = model_folder(config.model.path, "model.path").string();
  const RunConfig as_read = config;
  const policy::ModelConfig shape = planned_shape(config);
  const std::vector<env::Task> tasks = tasks_and_notes(config, true);
  check_tasks(config, tasks);
  published_baseline(config.eval);  // or throws
  const bool here = std::filesystem::exists(std::filesystem::path(config.model.path) / "config.json");
  check_start(config, shape, tasks, here);
  config.model.device = "cuda";
  if (here || config.model.path.empty()) {
    const CheckedData data = check_data(config, shape);
    say_data(data);
    config.cold_start.micro_batch_tokens = std::max(config.cold_start.micro_batch_tokens, data.longest);
  }
  if (!here && !config.model.path.empty())
    fmt::print(stderr, "{} is not here: planned as published\n", config.model.path);
  if (const std::string unknown = policy::cuda::unknown_to_gpu(shape, config.rollout.max_context_tokens);
      !unknown.empty())
    fmt::print(stderr, "a run would be refused: model on a GPU: {}\n", unknown);
  fmt::print(stderr, "{} parameters, {} ranks\n", shape.parameter_count(), site.ranks);
  print_plan(as_read, make_plan(config, shape, site, judge_plan(config, shape, tasks, site)));
  return kExitOk;
}

// Where modules are judged on the policy's own GPU, as many at a time as fit beside it.
env::JudgeOptions judge_beside_policy(const RunConfig& config, const Plan& plan) {
  env::JudgeOptions options = config.env;
  if (!plan.judge.modules || plan.judge.items.empty() || plan.judge.room_bytes <= 0) return options;
  int64_t one_bytes = 1;
  for (const MemoryItem& item : plan.judge.items) one_bytes += item.bytes;
  options.module_bytes = plan.judge.room_bytes;
  if (options.module_lanes == 0)
    options.module_lanes =
        std::clamp<int64_t>(options.module_bytes / one_bytes, 1, env::module_lanes(config.env, 1));
  return options;
}

int run_train(RunConfig& config, const Plan& plan, Communicator& ranks) {
  connect_devices(config.model, ranks);
  policy::use_threads(config.run.threads);
  env::Judge judge(judge_beside_policy(config, plan), judged_tasks(config));
  Run run(config, ranks);
  judge.keep_journal(run.journal(), run.known_verdict_bytes());
  say_start(config, judge, ranks);
  run.say_start();
  say_memory(plan);
  if (const std::string line = left_out_text(plan); !line.empty()) say_line(line);
  train(config, judge, run, too_large_for_some(plan, ranks));
  return any_interrupted(ranks) ? kExitInterrupted : kExitOk;
}

int train_or_plan(const ConfigWords& words, bool dry, const std::string& machine) {
  if (!machine.empty() && !dry)
    throw ConfigError("--machine: a plan for another machine is a --dry-run; pass both");
  if (!machine.empty()) return plan_for(words.read(), machine);
  Plan plan;
  bool complete = false;
  return run_ranked({[&] { return read_with_model(words); }, judged_tasks,
                     [&](RunConfig& config, Communicator& ranks) {
                       if (dry)
                         dry_run(config, ranks);
                       else
                         complete = prepare(config, ranks, plan);
                     },
                     [&](RunConfig& config, Communicator& ranks) {
                       if (dry || ranks.any(complete, "run directory")) return int(kExitOk);
                       return run_train(config, plan, ranks);
                     }});
}

}  // namespace

void add_train(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("train", "teach a policy: cold start, reinforcement learning, evaluation");
  const auto words = std::make_shared<ConfigWords>();
  const auto dry = std::make_shared<bool>(false);
  const auto machine = std::make_shared<std::string>();
  declare_config(*command, *words);
  command->add_flag(
      "--dry-run", *dry,
      "check all that can be checked without judging; print the resolved config, and on standard error "
      "the memory plan and the cost of a step");
  command->add_option("--machine", *machine,
                      "with --dry-run: plan for a machine that is not here, like 8xH100-80 or 8xH200-141");
  command->callback([=, &exit_code] { exit_code = train_or_plan(*words, *dry, *machine); });
}

}  // namespace temper::trainer
