#include "trainer/app/report/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/error.h"
#include "base/process.h"
#include "trainer/app/report/curves.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kSparkWidth = 40;
constexpr size_t kLastSteps = 5, kRateSteps = 20;
constexpr double kRefresh_s = 2, kSilent_s = 120;

struct Figure {
  const char *name, *metric;
  bool percent;
};
constexpr std::array kWatched = {Figure{"reward", "critic/rewards/mean", false},
                                 Figure{"correct", "env/correct", true}, Figure{"fast_1", "env/fast_1", true},
                                 Figure{"tok/s", "perf/throughput", false},
                                 Figure{"entropy", "actor/entropy", false}};

double at_step(const RunRecord& run, const std::string& metric, int64_t step) {
  const Series* series = run.find(metric);
  if (!series) return 0;
  const auto found = std::ranges::lower_bound(*series, step, {}, &Series::value_type::first);
  return found == series->end() || found->first != step ? 0 : found->second;
}

std::string value_text(double value, bool percent) {
  if (percent) return fmt::format("{:.1f} %", 100 * value);
  return std::abs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.3f}", value);
}

std::string duration_text(double seconds) {
  const auto s = int64_t(std::llround(seconds));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
}

std::string sparkline(const Series& series) {
  static constexpr std::array kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const Curve curve = make_curve({&series}, series.back().first, {.points = kSparkWidth});
  const auto [low, high] = std::ranges::minmax(curve.mean);
  std::string line;
  for (const double v : curve.mean)
    line += kBlocks[high > low ? size_t(std::lround((v - low) / (high - low) * 7)) : 0];
  return line;
}

std::string step_lines(const RunRecord& run) {
  const Series& steps = *run.find("timing_s/step");
  std::string text = fmt::format("  {:>6}{:>10}{:>10}{:>10}{:>10}{:>9}\n", "step", "reward", "correct",
                                 "fast_1", "tok/s", "s");
  for (size_t i = steps.size() - std::min(steps.size(), kLastSteps); i < steps.size(); ++i) {
    const auto [step, seconds] = steps[i];
    text += fmt::format(
        "  {:>6}{:>10.3f}{:>10}{:>10}{:>10.0f}{:>9.2f}\n", step, at_step(run, "critic/rewards/mean", step),
        value_text(at_step(run, "env/correct", step), true),
        value_text(at_step(run, "env/fast_1", step), true), at_step(run, "perf/throughput", step), seconds);
  }
  return text;
}

std::string course_lines(const RunRecord& run) {
  std::string text;
  for (const Figure& figure : kWatched)
    if (const Series* series = run.find(figure.metric))
      text += fmt::format("  {:<8} {:>9} → {:>9}  {}\n", figure.name,
                          value_text(series->front().second, figure.percent),
                          value_text(series->back().second, figure.percent), sparkline(*series));
  return text;
}

// Sum of a metric over the last `count` steps; 0: over all.
double recent_sum(const RunRecord& run, const std::string& metric, size_t count) {
  double sum = 0;
  if (const Series* series = run.find(metric))
    for (size_t i = count > 0 && count < series->size() ? series->size() - count : 0; i < series->size(); ++i)
      sum += (*series)[i].second;
  return sum;
}

std::string time_line(const RunRecord& run) {
  const double whole = recent_sum(run, "timing_s/step", kRateSteps);
  if (whole <= 0) return "";
  std::string text = "  time    ";
  double named = 0;
  for (const auto& [name, metric] :
       {std::pair("generate", "timing_s/gen"), std::pair("judge", "timing_s/reward"),
        std::pair("learn", "timing_s/update_actor")}) {
    const double part = recent_sum(run, metric, kRateSteps);
    named += part;
    text += fmt::format(" {} {:.0f} %", name, 100 * part / whole);
  }
  return text + fmt::format(" other {:.0f} %\n", 100 * std::max(0.0, whole - named) / whole);
}

double number_option(const RunRecord& run, const std::string& key) {
  const std::string text = run.option(key);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// By the last steps' rate: run.steps, or run.max_seconds if that comes first.
std::string end_line(const RunRecord& run) {
  const Series& steps = *run.find("timing_s/step");
  const double step_s =
      recent_sum(run, "timing_s/step", kRateSteps) / double(std::min(kRateSteps, steps.size()));
  double left_s = std::max(0.0, number_option(run, "run.steps") - double(run.steps_done())) * step_s;
  if (const double limit_s = number_option(run, "run.max_seconds"); limit_s > 0)
    left_s = std::min(left_s, std::max(0.0, limit_s - recent_sum(run, "timing_s/step", 0)));
  return fmt::format("  {:.2f} s a step; about {} left, then the evaluation\n", step_s,
                     duration_text(left_s));
}

std::string state_line(const RunRecord& run, double idle_s) {
  if (run.state() == RunState::kFinished) return "  ended\n";
  if (idle_s < kSilent_s) return "";
  return fmt::format("  nothing written for {}: an evaluation, a long step, or it was killed\n",
                     duration_text(idle_s));
}

std::string cold_start_line(const RunRecord& run) {
  const Series *loss = run.find("cold_start/loss"), *progress = run.find("cold_start/progress");
  if (!loss || !progress) return "  no step yet: the judge starts, examples are made\n";
  return fmt::format("  cold start {:.0f} %, loss {:.3f}  {}\n", 100 * progress->back().second,
                     loss->back().second, sparkline(*loss));
}

double idle_seconds(const fs::path& file) {
  std::error_code error;
  const auto written = fs::last_write_time(file, error);
  if (error) return 0;
  return std::chrono::duration<double>(fs::file_time_type::clock::now() - written).count();
}

}  // namespace

std::string watch_text(const RunRecord& run, double idle_s) {
  std::string text = fmt::format("{}  step {} of {}\n", run.name, run.steps_done(), run.option("run.steps"));
  if (run.steps_done() == 0) return text + cold_start_line(run) + state_line(run, idle_s);
  text += step_lines(run) + "\n" + course_lines(run) + "\n" + time_line(run);
  if (run.state() != RunState::kFinished) text += end_line(run);
  return text + state_line(run, idle_s);
}

int watch_run(const fs::path& dir) {
  RunRecord run = read_run(dir);
  MetricsFile metrics(dir / "metrics.jsonl");
  const bool terminal = ::isatty(STDOUT_FILENO);
  for (;;) {
    metrics.read_on();
    run.series = metrics.series();
    // Home, the text with the rest of each line erased, and what is below it erased: no flicker.
    std::string text = watch_text(run, idle_seconds(dir / "metrics.jsonl"));
    if (!terminal) return fmt::print("{}", text), kExitOk;
    for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 4))
      text.insert(at, "\033[K");
    fmt::print("\033[H{}\033[J", text);
    std::fflush(stdout);
    if (run.state() == RunState::kFinished) return kExitOk;
    for (double waited = 0; waited < kRefresh_s && !interrupted(); waited += 0.1)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (interrupted()) return kExitOk;
  }
}

}  // namespace temper::trainer
