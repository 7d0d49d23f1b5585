#include "trainer/app/report/report.h"

#include <array>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "trainer/app/report/charts.h"
#include "trainer/app/report/conversation_data.h"
#include "trainer/app/report/held_out.h"
#include "trainer/app/report/origin.h"
#include "trainer/app/report/page.h"

namespace temper::trainer {
namespace {

using Json = nlohmann::json;

const char* state_text(RunState state) {
  switch (state) {
    case RunState::kNoStep:
      return "no step yet";
    case RunState::kUnfinished:
      return "active, or cut off";
    case RunState::kFinished:
      return "finished";
  }
  return "";
}

Json run_data(const RunRecord& run) {
  const Timeline timeline = timeline_of(run);
  Json facts = Json::array();
  for (const Fact& fact : facts_of(run, timeline)) facts.push_back({fact.name, fact.value});
  return {{"name", run.name},
          {"dir", run.dir.string()},
          {"seed", run.option("run.seed")},
          {"state", state_text(run.state())},
          {"steps", run.steps_done()},
          {"steps_planned", run.option("run.steps")},
          {"seconds", shortened(timeline.total())},
          {"facts", facts}};
}

Json group_data(const RunGroup& group) {
  Json runs = Json::array();
  std::string options;
  for (const RunRecord* run : group.runs) runs.push_back(run_data(*run));
  for (const auto& [key, value] : group.runs[0]->options) options += key + ": " + value + "\n";
  return {{"label", group.label}, {"runs", runs}, {"options", options}};
}

// {mean, spread?, low?, high?}: the spread over runs, of a single one the interval of a share of `answers`;
// null: not evaluated.
Json figure_data(const MeanSpread& value, bool is_share, int64_t answers) {
  if (value.count == 0) return nullptr;
  Json data = {{"mean", shortened(value.mean)}};
  if (value.count > 1) {
    data["spread"] = shortened(value.spread);
  } else if (is_share && answers > 0) {
    const ShareInterval interval = wilson_interval(value.mean, answers);
    data["low"] = shortened(interval.low), data["high"] = shortened(interval.high);
  }
  return data;
}

constexpr std::array kFigures = {"correct", "fast_1", "fast_1.2", "fast_1.5",
                                 "fast_2",  "hacks",  "reward",   "speedup"};
constexpr size_t kShares = 6;  // of them, the first

// What the evaluations of a group say, read once.
struct HeldOut {
  EvaluationTally before, after;
};

Json held_out_row(const RunGroup& group, const HeldOut& held_out, const std::string& answers) {
  const auto count = [&](const EvaluationTally& tally) {
    const auto found = tally.answers.find(answers);
    return found == tally.answers.end() ? 0 : found->second;
  };
  Json before = Json::array(), after = Json::array();
  for (size_t i = 0; i < kFigures.size(); ++i) {
    const BeforeAfter found = before_after(group, answers, kFigures[i]);
    before.push_back(figure_data(found.before, i < kShares, count(held_out.before)));
    after.push_back(figure_data(found.after, i < kShares, count(held_out.after)));
  }
  return {{"before", before},
          {"after", after},
          {"judged_before", count(held_out.before)},
          {"judged_after", count(held_out.after)}};
}

Json held_out_data(const std::vector<RunGroup>& groups, const std::vector<HeldOut>& held_out) {
  Json rows = Json::array();
  for (size_t g = 0; g < groups.size(); ++g)
    for (const auto& [answers, name] : answer_kinds(groups[g])) {
      Json row = held_out_row(groups[g], held_out[g], answers);
      row["group"] = g;
      row["answers"] = name;
      rows.push_back(std::move(row));
    }
  return {{"figures", kFigures}, {"shares", kShares}, {"rows", rows}};
}

Json tally_data(const EvaluationTally& tally, const std::string& task) {
  const auto found = tally.tasks.find(task);
  if (found == tally.tasks.end()) return nullptr;
  const TaskTally& t = found->second;
  const ShareInterval interval = wilson_interval(t.rate(), t.judged);
  return {{"rate", shortened(t.rate())},
          {"low", shortened(interval.low)},
          {"high", shortened(interval.high)},
          {"answers", t.judged},
          {"speedup", shortened(t.speedup())}};
}

// [{task, family, cells: [{before, after}]}], a cell a group; family "" where it is not known.
Json tasks_data(const std::vector<RunGroup>& groups, const std::vector<HeldOut>& held_out) {
  std::set<std::string> tasks;
  for (const HeldOut& of_group : held_out)
    for (const EvaluationTally* tally : {&of_group.before, &of_group.after})
      for (const auto& [task, counts] : tally->tasks) tasks.insert(task);
  std::map<std::string, std::string> families;
  if (!tasks.empty()) families = task_families(groups);
  Json rows = Json::array();
  for (const std::string& task : tasks) {
    Json cells = Json::array();
    for (const HeldOut& of_group : held_out)
      cells.push_back(
          {{"before", tally_data(of_group.before, task)}, {"after", tally_data(of_group.after, task)}});
    rows.push_back({{"task", task}, {"family", families[task]}, {"cells", cells}});
  }
  return rows;
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", std::localtime(&now));
  return text;
}

void replace(std::string& text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  TEMPER_CHECK(at != std::string::npos, "the page has no {}", what);
  text.replace(at, what.size(), with);
}

}  // namespace

Json report_data(const std::vector<RunRecord>& runs, const ReportOptions& options) {
  const std::vector<RunGroup> groups = group_runs(runs);
  std::vector<std::string> problems;
  for (const RunRecord& run : runs)
    for (const std::string& problem : run.problems) problems.push_back(run.dir.string() + ": " + problem);
  std::vector<HeldOut> held_out;
  for (const RunGroup& group : groups)
    held_out.push_back({tally_of(group, "eval_before", problems), tally_of(group, "eval_after", problems)});
  Json group_list = Json::array(), differing = Json::array();
  for (const RunGroup& group : groups) group_list.push_back(group_data(group));
  for (const GroupDifference& d : differences(groups))
    differing.push_back({{"key", d.key}, {"values", d.values}});
  Json data = {{"title", options.title},
               {"written", now_text()},
               {"groups", group_list},
               {"differences", differing},
               {"held_out", held_out_data(groups, held_out)},
               {"charts", line_charts(groups)},
               {"time", time_stacks(groups)},
               {"time_totals", time_totals(groups)},
               {"verdicts", verdict_stacks(groups)},
               {"tasks", tasks_data(groups, held_out)},
               {"conversations", conversations_data(groups, options.conversations, problems)}};
  data["problems"] = problems;
  return data;
}

std::string script_safe(const Json& data) {
  std::string text;
  for (const char c : data.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (c == '<' || c == '>' || c == '&')
      text += fmt::format("\\u{:04x}", unsigned(c));
    else
      text += c;
  }
  return text;
}

std::string report_page(const Json& data) {
  const std::string safe = script_safe(data);
  std::string page = kReportPage;
  // The data cannot name its own digest: nothing in it can pass for the page's script.
  replace(page, "{{nonce}}", sha256(safe));
  replace(page, "{{nonce}}", sha256(safe));
  replace(page, "{{style}}", kReportStyle);
  replace(page, "{{script}}", kReportScript);
  replace(page, "{{data}}", safe);
  return page;
}

}  // namespace temper::trainer
