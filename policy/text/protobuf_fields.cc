#include "policy/text/protobuf_fields.h"

namespace temper {

std::optional<uint64_t> ProtobufFields::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = uint8_t(rest_[0]);
    rest_.remove_prefix(1);
    value |= uint64_t(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<ProtobufField> ProtobufFields::broken() {
  malformed_ = true;
  rest_ = {};
  return std::nullopt;
}

std::optional<ProtobufField> ProtobufFields::next() {
  if (rest_.empty()) return std::nullopt;
  const auto tag = varint();
  if (!tag || *tag > UINT32_MAX || *tag >> 3 == 0) return broken();
  ProtobufField field{*tag >> 3, ProtobufWire(*tag & 7), {}};
  uint64_t size = 0;
  const char* begin = rest_.data();
  switch (field.wire) {
    case ProtobufWire::kVarint: {
      const auto value = varint();
      if (!value) return broken();
      field.varint = *value;
      field.value = {begin, size_t(rest_.data() - begin)};
      return field;
    }
    case ProtobufWire::kFixed64:
      size = 8;
      break;
    case ProtobufWire::kFixed32:
      size = 4;
      break;
    case ProtobufWire::kBytes:
      if (const auto length = varint())
        size = *length;
      else
        return broken();
      break;
    default:
      return broken();
  }
  if (size > rest_.size()) return broken();
  field.value = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return field;
}

}  // namespace temper
