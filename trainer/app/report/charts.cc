#include "trainer/app/report/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "trainer/app/report/curves.h"
#include "trainer/app/report/timeline.h"

namespace temper::trainer {
namespace {

using Json = nlohmann::json;

struct LineChart {
  const char *section, *metric, *title, *unit, *help;
};

// unit: "%" of a share, "×", "s", "" or a plain word behind the number.
constexpr std::array kLineCharts = {
    LineChart{"Learning", "critic/rewards/mean", "Reward", "", "mean over the answers of a step"},
    LineChart{"Learning", "env/correct", "Correct", "%", "share of answers that PASS"},
    LineChart{"Learning", "env/fast_1", "fast_1", "%",
              "share of answers that are right and faster than eager"},
    LineChart{"Learning", "env/fast_1_compiled", "fast_1, torch.compile", "%",
              "share of answers that are right and faster than torch.compile, where its time is known"},
    LineChart{"Learning", "env/lazy", "Lazy", "%",
              "share of right answers with less than 30 % of the device time in their own kernels"},
    LineChart{"Learning", "env/fast_1.5", "fast_1.5", "%", "right and more than 1.5 times as fast as eager"},
    LineChart{"Learning", "env/speedup", "Speedup", "×", "geometric mean of the right answers against eager"},
    LineChart{"Learning", "env/hacks", "Hacks", "%",
              "share of answers that were caught looking right or fast without being so"},
    LineChart{"Held out", "val/sampled/correct", "Held out: correct", "%", "last answers, sampled"},
    LineChart{"Held out", "val/sampled/fast_1", "Held out: fast_1", "%", "last answers, sampled"},
    LineChart{"Held out", "val/sampled/reward", "Held out: reward", "", "last answers, sampled"},
    LineChart{"Policy", "actor/entropy", "Entropy", "nats", "of the next token, mean over answers"},
    LineChart{"Policy", "actor/grad_norm", "Gradient norm", "", "before clipping"},
    LineChart{"Policy", "actor/pg_clipfrac", "Clipped", "%",
              "share of tokens whose ratio the clip holds back"},
    LineChart{"Policy", "actor/ratio_max", "Largest ratio", "", "of new to old probability of a token"},
    LineChart{"Policy", "actor/ppo_kl", "KL of a step", "nats",
              "from the policy that sampled to the one learned"},
    LineChart{"Policy", "actor/kl_loss", "KL to the start", "nats", "from the reference policy, a token"},
    LineChart{"Policy", "actor/skipped_updates", "Skipped updates", "",
              "left out for a gradient that is not finite"},
    LineChart{"Policy", "critic/advantages/std", "Spread of advantages", "", "standard deviation"},
    LineChart{"Policy", "critic/advantages/max", "Largest advantage", "", "of a step's answers"},
    LineChart{"Policy", "critic/advantages/min", "Lowest advantage", "", "of a step's answers"},
    LineChart{"Policy", "env/frac_zero_std", "Groups without signal", "%",
              "tasks whose answers all earned the same"},
    LineChart{"Policy", "response_length/mean", "Length of answers", "tokens", "mean"},
    LineChart{"Policy", "response_length/clip_ratio", "Cut answers", "%", "share that hit the length limit"},
    LineChart{"Policy", "actor/lr", "Learning rate", "", "of reinforcement learning"},
    LineChart{"Policy", "rollout_corr/kl", "Sampling against training", "nats",
              "mean log-prob ratio of sampled tokens; 0 except for rounding"},
    LineChart{"Policy", "rollout_corr/rejected", "Rejected trajectories", "",
              "left out for a mismatch of sampling and training"},
    LineChart{"Policy", "env/infra", "INFRA", "%", "answers that could not be judged, by no fault of theirs"},
    LineChart{"Policy", "env/overturned", "Overturned", "",
              "right answers that were judged once more and did not pass again"},
    LineChart{"Speed", "timing_s/step", "A step", "s", "wall time"},
    LineChart{"Speed", "perf/gen_throughput", "Generation", "tokens/s",
              "tokens of answers, over the seconds in which they are drawn"},
    LineChart{"Speed", "perf/throughput", "Throughput", "tokens/s",
              "tokens learned from, over the whole step"},
    LineChart{"Speed", "throughput/model_tflops", "Learning", "TFLOP/s",
              "the model's own arithmetic of an update, over its seconds; of a device"},
    LineChart{"Speed", "throughput/mfu", "MFU", "%", "share of a GPU's bf16 peak that learning reached"},
    LineChart{"Speed", "throughput/gen_mfu", "MFU of generation", "%",
              "share of a GPU's bf16 peak that drawing tokens reached"},
    LineChart{"Speed", "perf/max_memory_allocated_gb", "GPU memory", "GB", "peak of what was allocated"},
    LineChart{"Speed", "perf/max_memory_reserved_gb", "GPU memory reserved", "GB", "peak"},
    LineChart{"Speed", "perf/cpu_memory_used_gb", "Host memory", "GB",
              "of the first rank and all that it started; what they share counts for each"},
    LineChart{"Speed", "env/cached", "Known verdicts", "%", "share of answers that had been judged before"},
    LineChart{"Cold start", "cold_start/loss", "Cold start: loss", "nats", "supervised, a token"},
    LineChart{"Cold start", "cold_start/grad_norm", "Cold start: gradient norm", "", "before clipping"},
    LineChart{"Cold start", "cold_start/throughput", "Cold start: throughput", "tokens/s", "learned from"},
};
// Alarms: drawn only where one went off.
constexpr std::array kAlarms = {"env/hacks",       "env/infra",     "rollout_corr/rejected",
                                "rollout_corr/kl", "actor/kl_loss", "actor/skipped_updates"};

constexpr double kSmooth = 0.06;
constexpr int64_t kLinePoints = 240, kStackPoints = 120,
                  kAllPoints = 1200;  // kAllPoints: of one chart's lines

std::vector<const Series*> series_of(const RunGroup& group, const std::string& metric) {
  std::vector<const Series*> found;
  for (const RunRecord* run : group.runs)
    if (const Series* series = run->find(metric)) found.push_back(series);
  return found;
}

// Steps of reinforcement learning, or updates of the cold start.
int64_t last_step(const std::vector<RunGroup>& groups, const std::string& metric) {
  int64_t last = 1;
  for (const RunGroup& group : groups)
    for (const Series* series : series_of(group, metric)) last = std::max(last, series->back().first);
  return last;
}

bool silent(const std::vector<RunGroup>& groups, const std::string& metric) {
  if (std::ranges::count(kAlarms, metric) == 0) return false;
  for (const RunGroup& group : groups)
    for (const Series* series : series_of(group, metric))
      if (std::ranges::any_of(*series, [](const auto& point) { return std::abs(point.second) > 1e-6; }))
        return false;
  return true;
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double v : values) list.push_back(shortened(v));
  return list;
}

// Steps keep all their digits.
Json steps(const std::vector<double>& values) { return values; }

Json line_of(const Curve& curve, size_t group) {
  Json line = {{"group", group}, {"x", steps(curve.step)}, {"y", numbers(curve.mean)}};
  if (!curve.low.empty()) line["low"] = numbers(curve.low), line["high"] = numbers(curve.high);
  if (!curve.raw_low.empty())
    line["raw_low"] = numbers(curve.raw_low), line["raw_high"] = numbers(curve.raw_high);
  return line;
}

Json lines_of(const std::vector<RunGroup>& groups, const std::string& metric) {
  const int64_t last = last_step(groups, metric);
  const CurveOptions options{
      .points = std::min(kLinePoints, std::max<int64_t>(40, kAllPoints / std::ssize(groups))),
      .smooth = kSmooth};
  Json lines = Json::array();
  for (size_t g = 0; g < groups.size(); ++g)
    if (const auto runs = series_of(groups[g], metric); !runs.empty()) {
      const Curve curve =
          metric.starts_with("val/") ? make_evaluation_curve(runs) : make_curve(runs, last, options);
      if (!curve.step.empty()) lines.push_back(line_of(curve, g));
    }
  return lines;
}

Json stacks(const std::vector<RunGroup>& groups, const std::vector<std::string>& metrics) {
  const int64_t last = last_step(groups, "timing_s/step");
  const int64_t points = std::min(kStackPoints, std::max<int64_t>(30, kAllPoints / std::ssize(groups)));
  Json drawn = Json::array();
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto whole = series_of(groups[g], "timing_s/step");
    if (whole.empty()) continue;
    std::vector<std::vector<const Series*>> parts;
    for (const std::string& metric : metrics) parts.push_back(series_of(groups[g], metric));
    const Stack stack = make_stack(parts, whole, last, points);
    Json values = Json::array();
    for (const auto& part : stack.values) values.push_back(numbers(part));
    drawn.push_back({{"group", g}, {"x", steps(stack.step)}, {"values", values}});
  }
  return drawn;
}

struct TimePart {
  const char *name, *metric;
};
constexpr std::array kTimeParts = {TimePart{"generate", "timing_s/gen"}, TimePart{"judge", "timing_s/reward"},
                                   TimePart{"learn", "timing_s/update_actor"}};

}  // namespace

double shortened(double value) {
  if (!std::isfinite(value) || value == 0) return 0;
  const std::string text = fmt::format("{:.4g}", value);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Json line_charts(const std::vector<RunGroup>& groups) {
  Json charts = Json::array();
  for (const LineChart& chart : kLineCharts) {
    if (silent(groups, chart.metric)) continue;
    Json lines = lines_of(groups, chart.metric);
    if (lines.empty()) continue;
    const bool updates = std::string_view(chart.metric).starts_with("cold_start/");
    charts.push_back({{"section", chart.section},
                      {"title", chart.title},
                      {"metric", chart.metric},
                      {"unit", chart.unit},
                      {"help", chart.help},
                      {"x", updates ? "update" : "step"},
                      {"lines", std::move(lines)}});
  }
  return charts;
}

Json time_stacks(const std::vector<RunGroup>& groups) {
  Json parts = Json::array();
  std::vector<std::string> metrics;
  for (const TimePart& part : kTimeParts) parts.push_back(part.name), metrics.push_back(part.metric);
  // The whole last: what is left of it once the parts are taken off is what no part names.
  metrics.push_back("timing_s/step");
  parts.push_back("other");
  Json drawn = stacks(groups, metrics);
  for (Json& group : drawn) {
    Json& values = group["values"];
    for (size_t i = 0; i < values.back().size(); ++i) {
      double rest = values.back()[i];
      for (size_t part = 0; part + 1 < values.size(); ++part) rest -= values[part][i].get<double>();
      values.back()[i] = shortened(std::max(0.0, rest));
    }
  }
  return {{"parts", parts}, {"groups", drawn}};
}

Json verdict_stacks(const std::vector<RunGroup>& groups) {
  const std::string prefix = "env/verdict/";
  std::set<std::string> named;
  for (const RunGroup& group : groups)
    for (const RunRecord* run : group.runs)
      for (const auto& [metric, series] : run->series)
        if (metric.starts_with(prefix)) named.insert(metric);
  // PASS at the bottom, where its height can be read; the others by name.
  std::vector<std::string> metrics(named.begin(), named.end());
  std::ranges::stable_partition(metrics,
                                [&](const std::string& metric) { return metric == prefix + "PASS"; });
  Json parts = Json::array();
  for (const std::string& metric : metrics) parts.push_back(metric.substr(prefix.size()));
  return {{"parts", parts}, {"groups", stacks(groups, metrics)}};
}

Json time_totals(const std::vector<RunGroup>& groups) {
  using Part = std::pair<const char*, double Timeline::*>;
  constexpr std::array<Part, 8> kParts = {
      Part{"start, corpus", &Timeline::start}, Part{"cold start", &Timeline::cold_start},
      Part{"generate", &Timeline::generate},   Part{"judge", &Timeline::judge},
      Part{"learn", &Timeline::learn},         Part{"rest of a step", &Timeline::rest_of_steps},
      Part{"evaluate", &Timeline::evaluate},   Part{"other", &Timeline::other}};
  Json parts = Json::array(), rows = Json::array();
  for (const Part& part : kParts) parts.push_back(part.first);
  for (size_t g = 0; g < groups.size(); ++g) {
    std::vector<double> totals(kParts.size());
    for (const RunRecord* run : groups[g].runs) {
      const Timeline timeline = timeline_of(*run);
      for (size_t i = 0; i < kParts.size(); ++i)
        totals[i] += timeline.*kParts[i].second / double(groups[g].runs.size());
    }
    rows.push_back({{"group", g}, {"values", numbers(totals)}});
  }
  return {{"parts", parts}, {"groups", rows}};
}

}  // namespace temper::trainer
