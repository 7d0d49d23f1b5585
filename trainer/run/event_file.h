#pragma once
// TensorBoard's event files, as far as we write them. Not by protobuf's own library: libsentencepiece exports
// one that clashes with the system's in one process.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace temper::trainer {

// Event {1: wall_time, 2: step, 3: file_version}: the first of a file.
// Source: tensorflow/core/util/event.proto, tensorflow/core/framework/summary.proto
std::string version_event(double wall_time);
// Event {1: wall_time, 2: step, 5: Summary {1: Value {1: tag, 2: simple_value} …}}.
std::string summary_event(double wall_time, int64_t step, const std::map<std::string, double>& values);

// The bytes of an event in the file: its length, the length's checksum, the data, the data's checksum.
// Source: tensorflow/core/lib/io/record_writer.cc
std::string event_record(std::string_view event);

// CRC-32C (Castagnoli).
uint32_t crc32c(std::string_view data);

}  // namespace temper::trainer
