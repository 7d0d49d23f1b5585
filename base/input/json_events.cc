#include "base/input/json_events.h"

#include "base/error.h"
#include "base/input/printable.h"
#include "base/input/utf8.h"

namespace temper {

// nlohmann's lexer skips a byte order mark, and takes a NUL for the end of the text: what follows would be
// read by nobody.
void JsonEvents::read(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf"))
    throw ConfigError("{} is not JSON: it begins with a byte order mark", where_);
  if (text.find('\0') != std::string_view::npos) throw ConfigError("{} is not JSON: it holds a NUL", where_);
  if (const size_t valid = valid_utf8_prefix(text); valid < text.size())
    throw ConfigError("{} is not valid UTF-8: byte {}", where_, valid + 1);
  nlohmann::json::sax_parse(text.begin(), text.end(), this);
}

void JsonEvents::read_cbor(std::string_view bytes) {
  format_ = "CBOR";
  nlohmann::json::sax_parse(bytes.begin(), bytes.end(), this, nlohmann::json::input_format_t::cbor);
}

bool JsonEvents::null() { return on_value(nullptr), true; }
bool JsonEvents::boolean(bool value) { return on_value(value), true; }
bool JsonEvents::number_integer(number_integer_t value) { return on_value(value), true; }
bool JsonEvents::number_unsigned(number_unsigned_t value) { return on_value(value), true; }
bool JsonEvents::number_float(number_float_t value, const string_t&) { return on_value(value), true; }
bool JsonEvents::string(string_t& value) { return on_value(std::move(value)), true; }
bool JsonEvents::binary(binary_t& value) { return on_value(nlohmann::json::binary(std::move(value))), true; }
bool JsonEvents::key(string_t& name) { return on_key(name), true; }
bool JsonEvents::start_object(size_t) { return begin(false); }
bool JsonEvents::start_array(size_t) { return begin(true); }
bool JsonEvents::end_object() { return end(); }
bool JsonEvents::end_array() { return end(); }

bool JsonEvents::begin(bool array) {
  if (depth_ == most_depth_) throw ConfigError("{}: is nested more than {} deep", where_, most_depth_);
  on_begin(array);
  ++depth_;
  return true;
}

bool JsonEvents::end() {
  --depth_;
  on_end();
  return true;
}

std::string JsonEvents::place(size_t position, const std::string& token) const {
  return fmt::format("byte {}, at '{}'", position, printable(token));
}

bool JsonEvents::parse_error(size_t position, const std::string& token,
                             const nlohmann::detail::exception& e) {
  if (std::string_view(e.what()).find("ill-formed UTF-8") != std::string_view::npos)
    throw ConfigError("{} is not valid UTF-8: {}", where_, place(position, token));
  throw ConfigError("{} is not {}: {}", where_, format_, place(position, token));
}

}  // namespace temper
