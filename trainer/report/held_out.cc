#include "trainer/report/held_out.h"

#include <cmath>
#include <set>

#include "base/error.h"
#include "rollout/trajectory_file.h"

namespace temper {
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

struct Tally {
  int64_t passed = 0, judged = 0;
  double log_speedup = 0;
};

// An evaluation samples each task and then answers it once greedily, as sample 0 again: that one is left out.
void tally(const fs::path& file, std::map<std::string, Tally>& tallies) {
  std::set<std::pair<std::string, int64_t>> seen;
  for (const Trajectory& t : read_trajectories(file)) {
    if (t.turns.empty() || t.turns.back().verdict.infra() || !seen.emplace(t.task, t.sample).second) continue;
    const Verdict& last = t.turns.back().verdict;
    Tally& task = tallies[t.task];
    ++task.judged;
    if (!last.pass()) continue;
    ++task.passed;
    task.log_speedup += std::log(last.speedup);
  }
}

std::map<std::string, Tally> tally_of(const RunGroup& group, const std::string& name,
                                      std::vector<std::string>& problems) {
  std::map<std::string, Tally> tallies;
  for (const RunRecord* run : group.runs) try {
      if (const fs::path path = run->dir / "trajectories" / (name + kTrajectoryFile); fs::exists(path)) tally(path, tallies);
    } catch (const ConfigError& e) {
      problems.push_back(e.what());
    }
  return tallies;
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

std::map<std::string, TaskRate> task_rates(const RunGroup& group, std::vector<std::string>& problems) {
  std::map<std::string, TaskRate> rates;
  for (const auto& [task, t] : tally_of(group, "eval_before", problems))
    rates[task].before = double(t.passed) / double(t.judged);
  for (const auto& [task, t] : tally_of(group, "eval_after", problems)) {
    rates[task].after = double(t.passed) / double(t.judged);
    if (t.passed > 0) rates[task].speedup = std::exp(t.log_speedup / double(t.passed));
  }
  return rates;
}

}  // namespace temper
