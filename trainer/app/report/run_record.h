#pragma once
// Reads a run's directory, whether the run is active, finished, or was cut off at any moment.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policy/text/tokenizer.h"
#include "trainer/run/metrics.h"

namespace temper::trainer {

// One metric: (step, value) in the order of steps. Steps of cold_start/* are the cold start's updates.
using Series = std::vector<std::pair<int64_t, double>>;

// Reads metrics.jsonl as far as it is written. Reading it again continues where it stopped.
class MetricsFile {
 public:
  explicit MetricsFile(std::filesystem::path path) : path_(std::move(path)) {}

  // Reads the complete lines that were added, and returns their number. A line of an earlier step replaces everything
  // from that step on, because the run was resumed there. A file that became shorter is read from its start.
  int64_t read_on();

  const std::map<std::string, Series>& series() const { return series_; }
  int64_t bad_lines() const { return bad_lines_; }           // whole lines that are not JSON objects
  bool half_a_line() const { return half_line_bytes_ > 0; }  // at the end: being written, or broken off

 private:
  bool take(const std::string& line);

  std::filesystem::path path_;
  std::map<std::string, Series> series_;
  uint64_t offset_ = 0, half_line_bytes_ = 0;
  int64_t bad_lines_ = 0;
};

enum class RunState : uint8_t { kNoStep, kUnfinished, kFinished };

struct RunRecord {
  std::filesystem::path dir;
  std::string name;
  std::map<std::string, std::string> options;  // from config.yaml: dotted key → value as YAML
  std::map<std::string, Series> series;
  std::vector<std::string> problems;  // what could not be read, for the reader of a report

  RunState state() const;
  std::string option(const std::string& key) const;  // "" if the option is not there
  const Series* find(const std::string& metric) const;
  int64_t steps_done() const;
  Metrics evaluation(
      bool after) const;  // val/*: of step 0, or of the last step after it; empty where there is none
};

// Errors: ConfigError where `dir` is not a run directory, or its config.yaml is not one.
RunRecord read_run(const std::filesystem::path& dir);

// Returns `path` itself if it is a run, or the runs in it (a sweep, or the folder runs/) by name. Errors: ConfigError
// naming the path if there is none.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& path);

// The tokenizer that the run's trajectories are written in. Errors: ConfigError where the run has saved none
// yet.
policy::Tokenizer tokenizer_of_run(const std::filesystem::path& dir);

}  // namespace temper::trainer
