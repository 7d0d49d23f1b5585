#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "rollout/trajectory.h"
#include "trainer/commands/commands.h"
#include "trainer/report/run_record.h"

namespace temper {
namespace fs = std::filesystem;
namespace {

struct ShowWords {
  std::string run, which, task;
  int64_t limit = 3;
  bool best = false;
};

std::vector<std::string> recorded(const fs::path& run) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run / "trajectories", error))
    names.push_back(entry.path().stem().string());
  if (error) throw ConfigError("show: {} is not a run directory: {}", run.string(), error.message());
  std::sort(names.begin(), names.end());
  return names;
}

// The file asked for; without a wish the last evaluation, else the last step.
fs::path trajectories_file(const ShowWords& words) {
  const auto names = recorded(words.run);
  if (names.empty()) throw ConfigError("show: {} has recorded no trajectories yet", words.run);
  std::string name = words.which.empty() ? names.back() : words.which;
  if (words.which.empty() && std::count(names.begin(), names.end(), "eval_after")) name = "eval_after";
  if (!name.empty() && name.find_first_not_of("0123456789") == std::string::npos)
    name = fmt::format("step_{:06}", std::stoll(name.substr(0, 9)));
  if (!std::count(names.begin(), names.end(), name)) {
    const std::string near = nearest_name(name, names);
    throw ConfigError("show: {} has no {}{}", words.run, name,
                      near.empty() ? "" : "; did you mean " + near + "?");
  }
  return fs::path(words.run) / "trajectories" / (name + ".jsonl");
}

double last_speedup(const Trajectory& t) {
  return t.turns.empty() || !t.turns.back().verdict.pass() ? 0 : t.turns.back().verdict.speedup;
}

int run_show(const ShowWords& words) {
  std::vector<Trajectory> trajectories = read_trajectories(trajectories_file(words));
  if (!words.task.empty())
    std::erase_if(trajectories, [&](const Trajectory& t) { return t.task != words.task; });
  if (words.best)
    std::stable_sort(trajectories.begin(), trajectories.end(), [](const Trajectory& a, const Trajectory& b) {
      return last_speedup(a) > last_speedup(b);
    });
  if (trajectories.empty()) throw ConfigError("show: no trajectory of task {}", words.task);
  const Tokenizer tokenizer = tokenizer_of_run(words.run);
  for (int64_t i = 0; i < std::min<int64_t>(words.limit, int64_t(trajectories.size())); ++i)
    fmt::print("{}\n", to_text(trajectories[size_t(i)], tokenizer));
  return kExitOk;
}

}  // namespace

void add_show(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("show", "a run's trajectories as readable conversations");
  const auto words = std::make_shared<ShowWords>();
  command->add_option("run", words->run, "run directory")->required();
  command->add_option("which", words->which, "a step's number, eval_before or eval_after; default: the last");
  command->add_option("--task", words->task, "only this task");
  command->add_option("--limit", words->limit, "how many")->check(CLI::PositiveNumber);
  command->add_flag("--best", words->best, "the fastest right answers first");
  command->callback([=, &exit_code] { exit_code = run_show(*words); });
}

}  // namespace temper
