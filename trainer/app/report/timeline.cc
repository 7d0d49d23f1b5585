#include "trainer/app/report/timeline.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <protozero/pbf_reader.hpp>
#include <string_view>

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxEventBytes = 16 << 20;
constexpr size_t kWallTimeBytes = 9;  // a field's tag and a double

template <class T>
T number_at(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

using protozero::pbf_reader, protozero::pbf_wire_type, protozero::tag_and_type;

// Summary::Value {1: tag, 2: simple_value}
void add_value(pbf_reader message, Metrics& values) {
  std::string tag;
  while (message.next()) switch (message.tag_and_type()) {
      case tag_and_type(1, pbf_wire_type::length_delimited):
        tag = message.get_string();
        break;
      case tag_and_type(2, pbf_wire_type::fixed32):
        values[tag] = double(message.get_float());
        break;
      default:
        message.skip();
    }
}

// What trainer/run/event_file.h writes: the moment, and the figures of the first event that has any.
struct Moments {
  double first = 0, last = 0;
  double first_figures = 0;
  Metrics figures;
};

// As far as the event is whole.
Metrics figures_of(std::string_view bytes) {
  Metrics values;
  try {
    pbf_reader event(bytes.data(), bytes.size());
    while (event.next(5, pbf_wire_type::length_delimited)) {
      pbf_reader summary = event.get_message();
      while (summary.next(1, pbf_wire_type::length_delimited)) add_value(summary.get_message(), values);
    }
  } catch (const protozero::exception&) {
  }
  return values;
}

void take_event(std::string_view event, Moments& moments) {
  if (event.size() < kWallTimeBytes || event[0] != (1 << 3 | 1)) return;
  const auto at = number_at<double>(event.substr(1));
  if (!std::isfinite(at) || at <= 0) return;
  if (moments.first == 0) moments.first = at;
  moments.last = std::max(moments.last, at);
  if (!moments.figures.empty()) return;
  moments.figures = figures_of(event);
  moments.first_figures = at;
}

// After the first events only the time of each is read, because there may be many long ones.
Moments moments_of(const fs::path& path) {
  Moments moments;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return moments;
  const auto size = uint64_t(file.tellg());
  constexpr uint64_t kBefore = 12, kAfter = 4;  // length and its checksum; the data's
  std::string data;
  for (uint64_t at = 0; at + kBefore <= size;) {
    char length_bytes[8];
    if (!file.seekg(std::streamoff(at)).read(length_bytes, sizeof length_bytes)) break;
    const auto length = number_at<uint64_t>({length_bytes, sizeof length_bytes});
    if (length > kMaxEventBytes || at + kBefore + length + kAfter > size) break;
    data.resize(moments.figures.empty() ? length : std::min<uint64_t>(length, kWallTimeBytes));
    if (!file.seekg(std::streamoff(at + kBefore)).read(data.data(), std::streamsize(data.size()))) break;
    take_event(data, moments);
    at += kBefore + length + kAfter;
  }
  return moments;
}

std::vector<fs::path> event_files(const fs::path& dir) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir, error))
    if (entry.path().filename().string().starts_with("events.out.tfevents.") && entry.is_regular_file(error))
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

double sum_of(const RunRecord& run, const std::string& metric) {
  double sum = 0;
  if (const Series* series = run.find(metric))
    for (const auto& [step, value] : *series) sum += value;
  return sum;
}

// The seconds that the first figures of a start were made in.
double seconds_of(const Metrics& figures) {
  double seconds = 0;
  for (const char* metric : {"cold_start/seconds", "timing_s/step", "timing_s/testing"})
    if (const auto found = figures.find(metric); found != figures.end()) seconds += found->second;
  return seconds;
}

}  // namespace

Timeline timeline_of(const RunRecord& run) {
  Timeline t;
  if (const Series* seconds = run.find("cold_start/seconds")) t.cold_start = seconds->back().second;
  t.generate = sum_of(run, "timing_s/gen");
  t.judge = sum_of(run, "timing_s/reward");
  t.learn = sum_of(run, "timing_s/update_actor");
  t.rest_of_steps = std::max(0.0, sum_of(run, "timing_s/step") - t.generate - t.judge - t.learn);
  t.evaluate = sum_of(run, "timing_s/testing");
  double wall = 0;
  for (const fs::path& path : event_files(run.dir)) {
    const Moments moments = moments_of(path);
    if (moments.first == 0) continue;
    ++t.starts;
    if (t.began_s == 0) t.began_s = moments.first;
    t.ended_s = std::max(t.ended_s, moments.last);
    wall += moments.last - moments.first;
    if (!moments.figures.empty())
      t.start += std::max(0.0, moments.first_figures - moments.first - seconds_of(moments.figures));
  }
  t.other = std::max(0.0, wall - t.total());
  return t;
}

}  // namespace temper::trainer
