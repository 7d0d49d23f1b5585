#pragma once
// A serialized protobuf message, field by field. Source: protobuf.dev, "Encoding".

#include <cstdint>
#include <optional>
#include <string_view>

namespace temper {

enum class ProtobufWire : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct ProtobufField {
  uint64_t number;
  ProtobufWire wire;
  std::string_view value;  // as it lies in the message, without the length of kBytes
  uint64_t varint = 0;     // kVarint
};

// Reads nothing outside the message. Groups, which nobody writes any more, are malformed here.
class ProtobufFields {
 public:
  explicit ProtobufFields(std::string_view message) : rest_(message) {}
  std::optional<ProtobufField> next();  // none at the end, and where it is malformed
  bool malformed() const { return malformed_; }

 private:
  std::optional<uint64_t> varint();
  std::optional<ProtobufField> broken();

  std::string_view rest_;
  bool malformed_ = false;
};

}  // namespace temper
