#pragma once
// CBOR from other processes. nlohmann's reader calls itself for each level: bytes that nest deeper than `most`
// would end the process, so they are counted first.

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"

namespace temper {

class CborDepth : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit CborDepth(int most) : most_(most) {}
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return ++depth_ <= most_; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(size_t) override { return ++depth_ <= most_; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  const int most_;
  int depth_ = 0;
};

// Errors: WorldError.
inline nlohmann::json json_from_cbor(const std::string& bytes, int most_depth = 32) {
  CborDepth depth(most_depth);
  if (!nlohmann::json::sax_parse(bytes, &depth, nlohmann::json::input_format_t::cbor))
    throw WorldError("{} bytes that should be CBOR are none, or nest more than {} deep", bytes.size(), most_depth);
  return nlohmann::json::from_cbor(bytes);
}

}  // namespace temper
