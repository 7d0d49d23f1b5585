#pragma once
// Figures of a run, one line per step behind one that says what made it: metrics.jsonl for people and
// scripts, an event file for TensorBoard. Names are verl's where it has one (critic/rewards/mean,
// actor/entropy, timing_s/gen, …) plus env/*, throughput/* and cold_start/*. The last have lines of their
// own, whose steps are the cold start's updates.

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/files.h"

namespace temper {

using Metrics = std::map<std::string, double>;

class MetricsWriter {
 public:
  // Opens metrics.jsonl and a new event file in `dir`. Errors: WorldError naming the file.
  explicit MetricsWriter(const std::filesystem::path& dir);
  // What the run was started by, trainer/run/provenance.h, as the file's first line: {"start": {…}, "step": 0}.
  // Nothing where the file has a line already.
  void begin(const nlohmann::json& start);
  // Adds one line and one record; both are on disk when this returns. Numbers that are not finite are written
  // as null in the line. Errors: WorldError naming the file, which is left without half a line.
  void write(int64_t step, const Metrics& metrics);

 private:
  std::filesystem::path path_;
  AppendFile jsonl_, events_;
};

}  // namespace temper
