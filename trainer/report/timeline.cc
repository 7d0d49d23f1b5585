#include "trainer/report/timeline.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

namespace temper {
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

// The fields of a protobuf message, as far as they are whole.
struct Field {
  uint64_t number = 0, kind = 0;  // kind 0: varint, 1: 8 bytes, 2: bytes with a length, 5: 4 bytes
  std::string_view bytes = {};
};

std::optional<uint64_t> take_varint(std::string_view& rest) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<Field> take_field(std::string_view& rest) {
  const auto tag = take_varint(rest);
  if (!tag) return std::nullopt;
  Field field{*tag >> 3, *tag & 7};
  std::optional<uint64_t> length;
  switch (field.kind) {
    case 0:
      return take_varint(rest) ? std::optional(field) : std::nullopt;
    case 1:
      length = 8;
      break;
    case 2:
      length = take_varint(rest);
      break;
    case 5:
      length = 4;
      break;
    default:
      break;
  }
  if (!length || *length > rest.size()) return std::nullopt;
  field.bytes = rest.substr(0, *length);
  rest.remove_prefix(*length);
  return field;
}

// Summary::Value {1: tag, 2: simple_value}
void add_value(std::string_view message, Metrics& values) {
  std::string tag;
  while (const auto field = take_field(message)) {
    if (field->number == 1 && field->kind == 2) tag = field->bytes;
    if (field->number == 2 && field->kind == 5) values[tag] = double(number_at<float>(field->bytes));
  }
}

// What trainer/event_file.h writes: the moment, and the figures of the first event that has any.
struct Moments {
  double first = 0, last = 0;
  double first_figures = 0;
  Metrics figures;
};

Metrics figures_of(std::string_view event) {
  Metrics values;
  while (const auto field = take_field(event)) {
    if (field->number != 5 || field->kind != 2) continue;
    std::string_view summary = field->bytes;
    while (const auto value = take_field(summary))
      if (value->number == 1 && value->kind == 2) add_value(value->bytes, values);
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

// Of all but the first events only the moment is read: there may be many, and they are long.
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

}  // namespace temper
