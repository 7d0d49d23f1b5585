#include "trainer/report/report.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "trainer/report/charts.h"
#include "trainer/report/conversations.h"
#include "trainer/report/held_out.h"
#include "trainer/report/page.h"

namespace temper {
namespace {

using Json = nlohmann::json;

const char* state_text(RunState state) {
  switch (state) {
    case RunState::kNoStep:
      return "no step yet";
    case RunState::kUnfinished:
      return "going on, or broken off";
    case RunState::kFinished:
      return "finished";
  }
  return "";
}

double last_value(const RunRecord& run, const std::string& metric) {
  const Series* series = run.find(metric);
  return series ? series->back().second : 0;
}

double total_seconds(const RunRecord& run) {
  double seconds = last_value(run, "cold_start/seconds");
  for (const char* metric : {"timing_s/step", "timing_s/testing"})
    if (const Series* series = run.find(metric))
      for (const auto& [step, value] : *series) seconds += value;
  return seconds;
}

Json run_data(const RunRecord& run) {
  return {{"name", run.name},
          {"dir", run.dir.string()},
          {"seed", run.option("run.seed")},
          {"state", state_text(run.state())},
          {"steps", run.steps_done()},
          {"steps_planned", run.option("run.steps")},
          {"seconds", shortened(total_seconds(run))}};
}

Json group_data(const RunGroup& group) {
  Json runs = Json::array();
  std::string options;
  for (const RunRecord* run : group.runs) runs.push_back(run_data(*run));
  for (const auto& [key, value] : group.runs[0]->options) options += key + ": " + value + "\n";
  return {{"label", group.label}, {"runs", runs}, {"options", options}};
}

Json mean_spread_data(const MeanSpread& value) {
  if (value.count == 0) return nullptr;
  Json data = {shortened(value.mean)};
  if (value.count > 1) data.push_back(shortened(value.spread));
  return data;
}

Json held_out_data(const std::vector<RunGroup>& groups) {
  const std::vector<std::string> figures = {"correct", "fast_1", "fast_1.2", "fast_1.5",
                                            "fast_2",  "reward", "speedup",  "hacks"};
  Json rows = Json::array();
  for (size_t g = 0; g < groups.size(); ++g)
    for (const auto& [answers, name] : answer_kinds(groups[g])) {
      Json before = Json::array(), after = Json::array();
      for (const std::string& figure : figures) {
        const BeforeAfter found = before_after(groups[g], answers, figure);
        before.push_back(mean_spread_data(found.before));
        after.push_back(mean_spread_data(found.after));
      }
      rows.push_back({{"group", g}, {"answers", name}, {"before", before}, {"after", after}});
    }
  return {{"figures", figures}, {"rows", rows}};
}

Json tasks_data(const std::vector<RunGroup>& groups, std::vector<std::string>& problems) {
  std::vector<std::map<std::string, TaskRate>> rates;
  std::set<std::string> tasks;
  for (const RunGroup& group : groups) {
    rates.push_back(task_rates(group, problems));
    for (const auto& [task, rate] : rates.back()) tasks.insert(task);
  }
  Json rows = Json::array();
  for (const std::string& task : tasks) {
    Json cells = Json::array();
    for (const auto& of_group : rates) {
      const auto rate = of_group.find(task);
      cells.push_back(rate == of_group.end()
                          ? Json()
                          : Json{shortened(rate->second.before), shortened(rate->second.after),
                                 shortened(rate->second.speedup)});
    }
    rows.push_back({{"task", task}, {"cells", cells}});
  }
  return rows;
}

Json verdict_data(const Verdict& v) {
  return {{"kind", to_string(v.kind)},
          {"reason", v.reason},
          {"message", v.message},
          {"candidate_us", shortened(v.candidate_us)},
          {"baseline_us", shortened(v.baseline_us)},
          {"speedup", shortened(v.speedup)},
          {"low", shortened(v.speedup_low)},
          {"high", shortened(v.speedup_high)}};
}

Json conversation_data(const ReadableConversation& conversation) {
  Json turns = Json::array();
  for (const ConversationTurn& turn : conversation.turns) {
    Json answer = Json::array();
    for (const Passage& passage : turn.answer)
      answer.push_back({{"role", passage.role == Role::kCode ? "code" : "plan"}, {"text", passage.text}});
    turns.push_back({{"answer", answer}, {"stopped", turn.stopped}, {"verdict", verdict_data(turn.verdict)}});
  }
  return {{"task", conversation.task},
          {"sample", conversation.sample},
          {"prompt", conversation.prompt},
          {"turns", turns}};
}

// Of all runs of a group together, each in its own tokenizer's words.
Json group_conversations(const RunGroup& group, size_t index, size_t count) {
  std::vector<RecordedTrajectories> recorded;
  for (const RunRecord* run : group.runs) recorded.push_back(last_trajectories(*run));
  std::map<const Trajectory*, const RunRecord*> run_of;
  std::vector<const Trajectory*> all;
  for (size_t i = 0; i < recorded.size(); ++i)
    for (const Trajectory& t : recorded[i].trajectories) {
      run_of[&t] = group.runs[i];
      all.push_back(&t);
    }
  if (all.empty()) return nullptr;
  std::map<const RunRecord*, Tokenizer> tokenizers;
  const auto tokenizer_of = [&](const RunRecord* run) -> const Tokenizer& {
    const auto found = tokenizers.find(run);
    return found != tokenizers.end() ? found->second
                                     : tokenizers.emplace(run, tokenizer_of_run(run->dir)).first->second;
  };
  const BestAndWorst chosen = best_and_worst(all, count);
  Json data = {{"group", index}, {"origin", recorded[0].origin}};
  for (const auto& [name, list] : {std::pair("best", &chosen.best), std::pair("worst", &chosen.worst)}) {
    data[name] = Json::array();
    for (const Trajectory* t : *list) {
      data[name].push_back(conversation_data(readable(*t, tokenizer_of(run_of[t]))));
      data[name].back()["run"] = run_of[t]->name;
    }
  }
  return data;
}

Json conversations_data(const std::vector<RunGroup>& groups, int64_t count,
                        std::vector<std::string>& problems) {
  const size_t each = count == 0 ? 0 : std::max<size_t>(1, size_t(count) / groups.size());
  Json all = Json::array();
  for (size_t g = 0; g < groups.size() && each > 0; ++g) try {
      if (Json found = group_conversations(groups[g], g, each); !found.is_null())
        all.push_back(std::move(found));
    } catch (const ConfigError& e) {
      problems.push_back(e.what());
    }
  return all;
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
  Json group_list = Json::array(), differing = Json::array();
  for (const RunGroup& group : groups) group_list.push_back(group_data(group));
  for (const Difference& d : differences(groups)) differing.push_back({{"key", d.key}, {"values", d.values}});
  Json data = {{"title", options.title},
               {"written", now_text()},
               {"groups", group_list},
               {"differences", differing},
               {"held_out", held_out_data(groups)},
               {"charts", line_charts(groups)},
               {"time", time_stacks(groups)},
               {"time_totals", time_totals(groups)},
               {"verdicts", verdict_stacks(groups)},
               {"tasks", tasks_data(groups, problems)},
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

}  // namespace temper
