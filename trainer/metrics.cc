#include "trainer/metrics.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "trainer/event_file.h"

namespace temper {
namespace fs = std::filesystem;
namespace {

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::ofstream open_for_append(const std::filesystem::path& path) {
  std::ofstream file(path, std::ios::app | std::ios::binary);
  if (!file) throw system_error(fmt::format("create {}", path.string()));
  return file;
}

// All of `data` or nothing.
void append(std::ofstream& file, const fs::path& path, const std::string& data) {
  const uint64_t before = fs::file_size(path);
  errno = 0;
  file.write(data.data(), std::streamsize(data.size())).flush();
  if (file) return;
  const WorldError error = system_error(fmt::format("write {}", path.string()));
  std::error_code ignored;
  fs::resize_file(path, before, ignored);
  throw error;
}

}  // namespace

MetricsWriter::MetricsWriter(const std::filesystem::path& dir)
    : jsonl_path_(dir / "metrics.jsonl"),
      events_path_(dir / fmt::format("events.out.tfevents.{:.0f}.temper", wall_time())),
      jsonl_(open_for_append(jsonl_path_)),
      events_(open_for_append(events_path_)) {
  append(events_, events_path_, event_record(version_event(wall_time())));
}

void MetricsWriter::write(int64_t step, const Metrics& metrics) {
  nlohmann::json line(metrics);
  line["step"] = step;
  append(jsonl_, jsonl_path_, line.dump() + "\n");
  append(events_, events_path_, event_record(summary_event(wall_time(), step, metrics)));
}

}  // namespace temper
