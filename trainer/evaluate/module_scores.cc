#include "trainer/evaluate/module_scores.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "env/verdict/answer.h"
#include "trainer/evaluate/score.h"

namespace temper::trainer {

using env::VerdictKind;

namespace {

// What counts of one answer.
struct Counted {
  bool compiled = false, correct = false;
  double speedup = 0;  // 0 if it is not known
};

using Weakness = std::vector<std::string> env::ProblemNotes::*;

std::set<std::string> weak_tasks(const std::vector<ModuleAnswer>& answers, Weakness weakness) {
  std::set<std::string> tasks;
  for (const ModuleAnswer& answer : answers)
    if (const auto& notes = answer.verdict.problem; notes && !((*notes).*weakness).empty())
      tasks.insert(answer.task);
  return tasks;
}

Counted strictly(const ModuleAnswer& answer) {
  const env::Verdict& v = answer.verdict;
  const VerdictKind not_compiled[] = {VerdictKind::kFailParse, VerdictKind::kFailCompile,
                                      VerdictKind::kRejectPolicy, VerdictKind::kInfra};
  return {std::ranges::count(not_compiled, v.kind) == 0, v.pass(), v.pass() ? v.speedup : 0};
}

Counted comparably(const ModuleAnswer& answer, const std::map<std::string, env::RuntimeStats>& baselines) {
  const auto& result = answer.verdict.comparable;
  if (!result || !result->compiled) return {};
  const auto baseline = baselines.find(answer.task);
  const bool timed = result->runtime.mean > 0 && baseline != baselines.end();
  return {true, result->correctness,
          result->correctness && timed ? baseline->second.mean / result->runtime.mean : 0};
}

// pass@k over the problems.
std::map<int64_t, double> chances_of(const std::map<std::string, std::pair<int64_t, int64_t>>& right_of) {
  int64_t most = 0;
  for (const auto& [task, counts] : right_of) most = std::max(most, counts.second);
  std::map<int64_t, double> chances;
  for (const int64_t k : powers_up_to(most))
    for (const auto& [task, counts] : right_of)
      chances[k] +=
          pass_at(std::min(k, counts.second), counts.second, counts.first) / double(right_of.size());
  return chances;
}

ModuleScore score_by(const std::vector<ModuleAnswer>& answers, Weakness weakness,
                     const std::function<Counted(const ModuleAnswer&)>& count) {
  ModuleScore score;
  std::map<std::string, std::pair<int64_t, int64_t>> right_of;  // right answers, answers
  double logs = 0;
  int64_t timed = 0, others = 0, right_others = 0;
  const std::set<std::string> weak = weak_tasks(answers, weakness);
  const double share = answers.empty() ? 0 : 1 / double(answers.size());
  for (const ModuleAnswer& answer : answers) {
    const Counted counted = count(answer);
    score.infra += answer.verdict.infra();
    score.compiled += share * counted.compiled;
    score.correct += share * counted.correct;
    for (size_t i = 0; i < kKernelBenchCount; ++i)
      score.fast[i] += share * (counted.correct && counted.speedup > kKernelBenchThresholds[i]);
    auto& [right, all] = right_of[answer.task];
    right += counted.correct;
    ++all;
    if (!weak.contains(answer.task)) {
      ++others;
      right_others += counted.correct;
    }
    if (counted.speedup <= 0) continue;
    logs += std::log(counted.speedup);
    ++timed;
  }
  score.weak = std::ssize(weak);
  score.correct_on_others = others > 0 ? double(right_others) / double(others) : 0;
  score.problems = std::ssize(right_of);
  score.answers = std::ssize(answers);
  score.speedup = timed > 0 ? std::exp(logs / double(timed)) : 0;
  if (!answers.empty()) score.pass_at = chances_of(right_of);
  return score;
}

// One column of a level's table.
struct Column {
  std::string way, kind;
  ModuleScore score;
};

std::string row_text(const std::string& name, const std::vector<Column>& columns,
                     const std::function<std::string(const Column&)>& cell) {
  std::string row = fmt::format("  {:<18}", name);
  for (const Column& column : columns) row += fmt::format("{:>20}", cell(column));
  return row;
}

std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string title_of(int64_t level, const std::vector<Column>& columns) {
  const int64_t problems = columns[0].score.problems;
  std::string title = fmt::format("{}: {} problem{}", level > 0 ? fmt::format("level {}", level) : "no level",
                                  problems, problems == 1 ? "" : "s");
  int64_t infra = 0;
  for (const Column& column : columns) infra += column.kind == "strict" ? column.score.infra : 0;
  if (infra > 0) title += fmt::format("; {} of the answers could not be judged and count as wrong", infra);
  return title;
}

// Whose times the comparable speedups of a level are over; empty: the judge's own.
std::string published_line(int64_t level, const std::vector<ModuleAnswer>& answers) {
  std::set<std::string> hardware, missing;
  bool any = false;
  for (const ModuleAnswer& answer : answers) {
    if (answer.problem.level != level || !answer.published) continue;
    any = true;
    if (!answer.published->stats.timed())
      missing.insert(answer.task);
    else if (!answer.published->hardware.empty())
      hardware.insert(answer.published->hardware);
  }
  if (!any) return "";
  std::string line =
      fmt::format("  comparable speedups are over published times of {}",
                  hardware.empty() ? "an unnamed GPU" : fmt::format("{}", fmt::join(hardware, ", ")));
  if (!missing.empty())
    line += fmt::format("; {} of the problems have none and count as not fast, such as {}", missing.size(),
                        *missing.begin());
  return line;
}

void add_rows(const std::vector<Column>& columns, std::vector<std::string>& lines) {
  const auto row = [&](const std::string& name, const std::function<std::string(const Column&)>& cell) {
    lines.push_back(row_text(name, columns, cell));
  };
  row("", [](const Column& c) { return c.way + " " + c.kind; });
  row("compiled", [](const Column& c) { return percent_text(c.score.compiled); });
  row("correct", [](const Column& c) { return percent_text(c.score.correct); });
  for (size_t i = 0; i < kKernelBenchCount; ++i)
    row(fmt::format("fast_{:.1f}", kKernelBenchThresholds[i]),
        [i](const Column& c) { return percent_text(c.score.fast[i]); });
  row("geometric mean", [](const Column& c) {
    return c.score.speedup > 0 ? fmt::format("{:.4f}×", c.score.speedup) : std::string("-");
  });
  row("weak problems", [](const Column& c) { return fmt::format("{}", c.score.weak); });
  row("correct on others", [](const Column& c) { return percent_text(c.score.correct_on_others); });
  std::set<int64_t> powers;
  for (const Column& column : columns)
    if (column.score.answers > column.score.problems)
      for (const auto& [k, chance] : column.score.pass_at) powers.insert(k);
  for (const int64_t k : powers)
    row(fmt::format("pass@{}", k), [k](const Column& c) {
      const auto known = c.score.pass_at.find(k);
      return known != c.score.pass_at.end() ? percent_text(known->second) : std::string("-");
    });
}

}  // namespace

std::vector<ModuleAnswer> module_answers(const std::vector<env::Task>& tasks, const rollout::Batch& batch,
                                         const policy::Tokenizer& tokenizer, bool inside_reasoning) {
  std::vector<ModuleAnswer> answers;
  for (const rollout::Group& group : batch.groups) {
    const auto task = std::ranges::find(tasks, group.task, &env::Task::name);
    if (task == tasks.end() || !task->module) continue;
    for (const rollout::Trajectory& t : group.samples) {
      if (t.turns.empty()) continue;
      const rollout::Turn& last = t.turns.back();
      const env::Answer answer =
          env::extract_code(tokenizer.decode(t.answer_ids(last)), task->language, inside_reasoning);
      answers.push_back({task->name, *task->module, t.sample, answer.code, last.verdict});
    }
  }
  std::ranges::stable_sort(answers, {}, [](const ModuleAnswer& one) {
    return std::tuple(one.problem.level, one.problem.id, std::string_view(one.task), one.sample);
  });
  return answers;
}

std::map<std::string, env::RuntimeStats> module_baselines(const std::vector<ModuleAnswer>& answers) {
  std::map<std::string, env::RuntimeStats> baselines;
  for (const ModuleAnswer& answer : answers)
    if (const auto& result = answer.verdict.comparable; result && result->ref_runtime.mean > 0)
      baselines.emplace(answer.task, result->ref_runtime);
  return baselines;
}

std::map<std::string, env::RuntimeStats> comparable_baselines(const std::vector<ModuleAnswer>& answers) {
  if (std::ranges::none_of(answers, [](const ModuleAnswer& one) { return one.published.has_value(); }))
    return module_baselines(answers);
  std::map<std::string, env::RuntimeStats> baselines;
  for (const ModuleAnswer& answer : answers)
    if (answer.published && answer.published->stats.timed())
      baselines.emplace(answer.task, answer.published->stats);
  return baselines;
}

ModuleScore comparable_score(const std::vector<ModuleAnswer>& answers,
                             const std::map<std::string, env::RuntimeStats>& baselines) {
  return score_by(answers, &env::ProblemNotes::weak_comparable,
                  [&](const ModuleAnswer& answer) { return comparably(answer, baselines); });
}

ModuleScore strict_score(const std::vector<ModuleAnswer>& answers) {
  return score_by(answers, &env::ProblemNotes::weak, strictly);
}

std::map<int64_t, std::vector<ModuleAnswer>> by_level(const std::vector<ModuleAnswer>& answers) {
  std::map<int64_t, std::vector<ModuleAnswer>> levels;
  for (const ModuleAnswer& answer : answers) levels[answer.problem.level].push_back(answer);
  return levels;
}

std::vector<std::string> module_table(
    const std::vector<std::pair<std::string, const std::vector<ModuleAnswer>*>>& ways) {
  std::vector<ModuleAnswer> all;
  for (const auto& [way, answers] : ways) all.insert(all.end(), answers->begin(), answers->end());
  const auto baselines = comparable_baselines(all);
  std::map<int64_t, std::vector<Column>> levels;
  for (const auto& [way, answers] : ways)
    for (const auto& [level, own] : by_level(*answers)) {
      levels[level].push_back({way, "comparable", comparable_score(own, baselines)});
      levels[level].push_back({way, "strict", strict_score(own)});
    }
  std::vector<std::string> lines;
  for (const auto& [level, columns] : levels) {
    lines.insert(lines.end(), {"", title_of(level, columns)});
    if (const std::string line = published_line(level, all); !line.empty()) lines.push_back(line);
    add_rows(columns, lines);
  }
  return lines;
}

void add_metrics(const std::string& prefix, const std::vector<ModuleAnswer>& answers, Metrics& metrics) {
  const auto baselines = comparable_baselines(answers);
  for (const auto& [level, own] : by_level(answers))
    for (const auto& [kind, score] : {std::pair("comparable", comparable_score(own, baselines)),
                                      std::pair("strict", strict_score(own))}) {
      const std::string name = fmt::format("{}/level{}/{}", prefix, level, kind);
      metrics[name + "/compiled"] = score.compiled;
      metrics[name + "/correct"] = score.correct;
      metrics[name + "/weak"] = double(score.weak);
      metrics[name + "/correct_on_others"] = score.correct_on_others;
      metrics[name + "/speedup"] = score.speedup;
      for (size_t i = 0; i < kKernelBenchCount; ++i)
        metrics[fmt::format("{}/fast_{}", name, kKernelBenchThresholds[i])] = score.fast[i];
      for (const auto& [k, chance] : score.pass_at) metrics[fmt::format("{}/pass@{}", name, k)] = chance;
    }
}

}  // namespace temper::trainer
