#include "trainer/run/metrics.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "trainer/run/event_file.h"

namespace temper::trainer {
namespace {

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

MetricsWriter::MetricsWriter(const std::filesystem::path& dir)
    : path_(dir / "metrics.jsonl"),
      jsonl_(path_),
      events_(dir / fmt::format("events.out.tfevents.{:.0f}.temper", wall_time())) {
  events_.append(event_record(version_event(wall_time())));
}

void MetricsWriter::begin(const nlohmann::json& start) {
  if (std::filesystem::file_size(path_) == 0)
    jsonl_.append(nlohmann::json{{"start", start}, {"step", 0}}.dump() + "\n");
}

void MetricsWriter::write(int64_t step, const Metrics& metrics) {
  nlohmann::json line(metrics);
  line["step"] = step;
  jsonl_.append(line.dump() + "\n");
  events_.append(event_record(summary_event(wall_time(), step, metrics)));
}

}  // namespace temper::trainer
