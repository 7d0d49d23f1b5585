#include "trainer/event_file.h"

namespace temper {
namespace {

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += char(value | 0x80);
  return bytes + char(value);
}

// The wire types of protobuf that we need.
std::string integer_field(int number, int64_t value) {
  return char(number << 3 | 0) + varint(uint64_t(value));
}
std::string double_field(int number, double value) { return char(number << 3 | 1) + bytes_of(value); }
std::string float_field(int number, float value) { return char(number << 3 | 5) + bytes_of(value); }
std::string bytes_field(int number, const std::string& value) {
  return char(number << 3 | 2) + varint(value.size()) + value;
}

uint32_t masked_crc(std::string_view data) {
  const uint32_t crc = crc32c(data);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace

std::string version_event(double wall_time) {
  return double_field(1, wall_time) + bytes_field(3, "brain.Event:2");
}

std::string summary_event(double wall_time, int64_t step, const std::map<std::string, double>& values) {
  std::string summary;
  for (const auto& [tag, value] : values)
    summary += bytes_field(1, bytes_field(1, tag) + float_field(2, float(value)));
  return double_field(1, wall_time) + integer_field(2, step) + bytes_field(5, summary);
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

}  // namespace temper
