#include "trainer/app/report/held_out.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "env/task/task.h"
#include "rollout/trajectory_file.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

MeanSpread over_runs(const RunGroup& group, const std::string& metric, bool after) {
  std::vector<double> values;
  for (const RunRecord* run : group.runs) {
    const Metrics found = run->evaluation(after);
    if (const auto at = found.find(metric); at != found.end()) values.push_back(at->second);
  }
  return mean_spread(values);
}

std::string text_of(const MeanSpread& value, bool percent) {
  if (value.count == 0) return "–";
  const double unit = percent ? 100 : 1;
  std::string text = fmt::format("{:.{}f}", unit * value.mean, percent ? 1 : 3);
  if (value.count > 1) text += fmt::format(" ± {:.{}f}", unit * value.spread, percent ? 1 : 3);
  return text;
}

// An evaluation samples each task and then answers it once greedily, as sample 0 again.
void add_greedy(const rollout::Trajectory& t, EvaluationTally& tally) {
  tally.answers["val/greedy"] += !t.turns.back().verdict.infra();
}

void add_sampled(const rollout::Trajectory& t, EvaluationTally& tally) {
  for (size_t i = 0; i < t.turns.size(); ++i)
    tally.answers[fmt::format("val/sampled/turn_{}", i + 1)] += !t.turns[i].verdict.infra();
  tally.answers["val/sampled/best"] +=
      std::ranges::any_of(t.turns, [](const rollout::Turn& turn) { return !turn.verdict.infra(); });
  const env::Verdict& last = t.turns.back().verdict;
  if (last.infra()) return;
  TaskTally& task = tally.tasks[t.task];
  ++task.judged;
  if (!last.pass()) return;
  ++task.passed;
  task.log_speedup += std::log(last.speedup);
}

void add_file(const fs::path& file, EvaluationTally& tally) {
  std::set<std::pair<std::string, int64_t>> seen;
  for (const rollout::Trajectory& t : rollout::read_trajectories(file)) {
    if (t.turns.empty()) continue;
    if (seen.emplace(t.task, t.sample).second)
      add_sampled(t, tally);
    else
      add_greedy(t, tally);
  }
}

}  // namespace

BeforeAfter before_after(const RunGroup& group, const std::string& answers, const std::string& figure) {
  const std::string metric = answers + "/" + figure;
  return {over_runs(group, metric, false), over_runs(group, metric, true)};
}

std::vector<std::pair<std::string, std::string>> answer_kinds(const RunGroup& group) {
  std::set<std::string> metrics;
  for (const RunRecord* run : group.runs)
    for (const auto& [name, series] : run->series) metrics.insert(name);
  std::vector<std::pair<std::string, std::string>> kinds;
  const auto add = [&](const std::string& prefix, const std::string& name) {
    if (metrics.contains(prefix + "/correct")) kinds.emplace_back(prefix, name);
  };
  for (int turn = 1; metrics.contains(fmt::format("val/sampled/turn_{}/correct", turn)); ++turn)
    add(fmt::format("val/sampled/turn_{}", turn), fmt::format("turn {}", turn));
  add("val/sampled/best", "best turn");
  add("val/greedy", "greedy, last turn");
  return kinds;
}

std::string before_after_text(const BeforeAfter& figure, bool percent) {
  return fmt::format("{} → {}{}", text_of(figure.before, percent), text_of(figure.after, percent),
                     percent ? " %" : "");
}

ShareInterval wilson_interval(double share, int64_t count) {
  if (count <= 0) return {};
  constexpr double z = 1.959964;  // of the normal distribution, 2.5 % on each side
  const auto n = double(count);
  const double middle = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double reach = z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  return {std::max(0.0, middle - reach), std::min(1.0, middle + reach)};
}

double TaskTally::speedup() const { return passed > 0 ? std::exp(log_speedup / double(passed)) : 0; }

EvaluationTally tally_of(const RunGroup& group, const std::string& name, std::vector<std::string>& problems) {
  EvaluationTally tally;
  for (const RunRecord* run : group.runs) try {
      const fs::path path = run->dir / "trajectories" / (name + rollout::kTrajectoryFile);
      if (fs::exists(path)) add_file(path, tally);
    } catch (const ConfigError& e) {
      problems.push_back(e.what());
    }
  return tally;
}

std::map<std::string, std::string> task_families(const std::vector<RunGroup>& groups) {
  std::set<std::string> paths;
  for (const RunGroup& group : groups)
    for (const RunRecord* run : group.runs) paths.insert(run->option("tasks.path"));
  std::map<std::string, std::string> families;
  for (const std::string& path : paths) try {
      if (path.empty()) continue;
      for (const env::Task& task : env::load_tasks(fs::path(path))) families.emplace(task.name, task.family);
    } catch (const ConfigError&) {  // gone, or no longer what they were
    }
  return families;
}

}  // namespace temper::trainer
