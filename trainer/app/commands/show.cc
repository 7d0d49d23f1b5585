#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input/near_names.h"
#include "base/input/printable.h"
#include "rollout/trajectory_file.h"
#include "trainer/app/checks.h"
#include "trainer/app/commands/commands.h"
#include "trainer/app/report/run_record.h"

namespace temper::trainer {

using rollout::Trajectory;

namespace fs = std::filesystem;
namespace {

using Json = nlohmann::json;

constexpr int64_t kShown = 3;

struct ShowWords {
  std::string run, which, task;
  int64_t limit = 0;  // 0: kShown as text, all as JSON
  bool best = false, json = false;
};

double last_speedup(const Trajectory& t) {
  return t.turns.empty() || !t.turns.back().verdict.pass() ? 0 : t.turns.back().verdict.speedup;
}

// For other programs: everything, and the answers as text.
std::string json_line(const Trajectory& t, const policy::Tokenizer& tokenizer) {
  Json segments = Json::array(), turns = Json::array();
  for (const rollout::Segment& row : t.segments) {
    Json roles = Json::array();
    for (const rollout::Role role : row.roles) roles.push_back(rollout::to_string(role));
    segments.push_back({{"parent", row.parent},
                        {"prefix", row.prefix},
                        {"ids", row.ids},
                        {"roles", roles},
                        {"log_probs", row.log_probs}});
  }
  for (const rollout::Turn& turn : t.turns)
    turns.push_back({{"segment", turn.segment},
                     {"begin", turn.begin},
                     {"end", turn.end},
                     {"summary", {turn.summary.begin, turn.summary.end}},
                     {"stopped", turn.stopped},
                     {"text", tokenizer.decode(t.answer_ids(turn))},
                     {"verdict", turn.verdict}});
  const Json json = {
      {"task", t.task}, {"step", t.step}, {"sample", t.sample}, {"segments", segments}, {"turns", turns}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

int run_show(const ShowWords& words) {
  std::vector<Trajectory> trajectories =
      rollout::read_trajectories(trajectories_file(words.run, words.which, "show"));
  if (!words.task.empty())
    std::erase_if(trajectories, [&](const Trajectory& t) { return t.task != words.task; });
  if (words.best)
    std::stable_sort(trajectories.begin(), trajectories.end(), [](const Trajectory& a, const Trajectory& b) {
      return last_speedup(a) > last_speedup(b);
    });
  if (trajectories.empty()) throw ConfigError("show: no trajectory of task {}", words.task);
  const policy::Tokenizer tokenizer = tokenizer_of_run(words.run);
  const int64_t limit = words.limit > 0 ? words.limit : words.json ? std::ssize(trajectories) : kShown;
  trajectories.resize(size_t(std::min(limit, std::ssize(trajectories))));
  for (const Trajectory& t : trajectories) rollout::check_ids(t, tokenizer.vocab_size());
  for (const Trajectory& t : trajectories)
    fmt::print("{}\n", words.json ? json_line(t, tokenizer) : rollout::to_text(t, tokenizer));
  return kExitOk;
}

}  // namespace

fs::path trajectories_file(const std::string& run, const std::string& which, const std::string& command) {
  const fs::path folder = fs::path(run) / "trajectories";
  if (!fs::is_directory(folder)) throw ConfigError("{}: {} is not a run directory", command, run);
  const auto names = rollout::recorded_trajectories(folder);
  if (names.empty()) throw ConfigError("{}: {} has recorded no trajectories yet", command, run);
  std::string name = which.empty() ? names.back() : which;
  if (which.empty() && std::count(names.begin(), names.end(), "eval_after")) name = "eval_after";
  const std::string number = name.starts_with("step_") ? name.substr(5) : name;  // 80, step_80 or step_000080
  if (!number.empty() && number.find_first_not_of("0123456789") == std::string::npos)
    name = fmt::format("step_{:06}", std::stoll(number.substr(0, 9)));
  if (!std::count(names.begin(), names.end(), name))
    throw ConfigError("{}: {} has no {}{}", command, run, printable(name), did_you_mean(name, names));
  return folder / (name + rollout::kTrajectoryFile);
}

void add_show(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("show", "a run's trajectories as readable conversations");
  const auto words = std::make_shared<ShowWords>();
  command->add_option("run", words->run, "run directory")->transform(path_word())->required();
  command->add_option("which", words->which, "a step's number, eval_before or eval_after; default: the last");
  command->add_option("--task", words->task, "only this task");
  command->add_option("--limit", words->limit, "how many; default: 3, with --json all")->check(at_least(1));
  command->add_flag("--best", words->best, "the fastest right answers first");
  command->add_flag("--json", words->json,
                    "a line of JSON for each trajectory: ids, roles, log-probs, verdicts");
  command->callback([=, &exit_code] { exit_code = run_show(*words); });
}

}  // namespace temper::trainer
