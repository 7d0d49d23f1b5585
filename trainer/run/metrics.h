#pragma once
// The metrics of a run: metrics.jsonl for people and scripts, and an event file for TensorBoard. The first line says
// what made the run; then there is one line per step. Names are verl's where it has one (critic/rewards/mean,
// actor/entropy, timing_s/gen, …) plus env/*, throughput/* and cold_start/*. The cold start has lines of its own, whose
// steps are its updates.

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/files.h"

namespace temper::trainer {

using Metrics = std::map<std::string, double>;

class MetricsWriter {
 public:
  // Opens metrics.jsonl and a new event file in `dir`. Errors: WorldError naming the file.
  explicit MetricsWriter(const std::filesystem::path& dir);
  // Writes what started the run (trainer/run/provenance.h) as the file's first line: {"start": {…}, "step": 0}. Does
  // nothing if the file already has a line.
  void begin(const nlohmann::json& start);
  // Adds one line and one record; both are on disk when this returns. Numbers that are not finite are written
  // as null in the line. Errors: WorldError naming the file, which is left without half a line.
  void write(int64_t step, const Metrics& metrics);

 private:
  std::filesystem::path path_;
  AppendFile jsonl_, events_;
};

}  // namespace temper::trainer
