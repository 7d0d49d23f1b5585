#include "trainer/run/event_file.h"

#include <protozero/pbf_writer.hpp>

namespace temper::trainer {
namespace {

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

uint32_t masked_crc(std::string_view data) {
  const uint32_t crc = crc32c(data);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace

std::string version_event(double wall_time) {
  std::string event;
  protozero::pbf_writer fields(event);
  fields.add_double(1, wall_time);
  fields.add_string(3, "brain.Event:2");
  return event;
}

std::string summary_event(double wall_time, int64_t step, const std::map<std::string, double>& values) {
  std::string event;
  protozero::pbf_writer fields(event);
  fields.add_double(1, wall_time);
  fields.add_int64(2, step);
  protozero::pbf_writer summary(fields, 5);
  for (const auto& [tag, value] : values) {
    protozero::pbf_writer entry(summary, 1);
    entry.add_string(1, tag);
    entry.add_float(2, float(value));
  }
  return event;
}

std::string event_record(std::string_view event) {
  const std::string length = bytes_of(uint64_t(event.size()));
  return length + bytes_of(masked_crc(length)) + std::string(event) + bytes_of(masked_crc(event));
}

uint32_t crc32c(std::string_view data) {
  constexpr uint32_t kReversedPolynomial = 0x82f63b78;
  uint32_t crc = ~0u;
  for (const unsigned char byte : data) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? kReversedPolynomial : 0);
  }
  return ~crc;
}

}  // namespace temper::trainer
