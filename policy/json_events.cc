#include "policy/json_events.h"

#include "base/error.h"
#include "base/files.h"

namespace temper {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::json;

// Only the depth is looked at.
class DepthOnly : public JsonEvents {
 public:
  explicit DepthOnly(const std::string& where) : JsonEvents(where, 32) {}
  bool parse_error(size_t position, const std::string& token, const nlohmann::detail::exception&) override {
    throw ConfigError("{}: is not a JSON object: byte {}, at '{}'", where(), position, printable(token));
  }

 private:
  void on_key(std::string&) override {}
  void on_value(const Json&) override {}
  void on_begin(bool) override {}
  void on_end() override {}
};

}  // namespace

// nlohmann's lexer takes a NUL for the end of the text: what follows would be read by nobody.
void JsonEvents::read(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) throw ConfigError("{} is not JSON: it holds a NUL", where_);
  nlohmann::json::sax_parse(text.begin(), text.end(), this);
}

bool JsonEvents::null() { return on_value(nullptr), true; }
bool JsonEvents::boolean(bool value) { return on_value(value), true; }
bool JsonEvents::number_integer(number_integer_t value) { return on_value(value), true; }
bool JsonEvents::number_unsigned(number_unsigned_t value) { return on_value(value), true; }
bool JsonEvents::number_float(number_float_t value, const string_t&) { return on_value(value), true; }
bool JsonEvents::string(string_t& value) { return on_value(value), true; }
bool JsonEvents::binary(binary_t&) { return false; }
bool JsonEvents::key(string_t& name) { return on_key(name), true; }
bool JsonEvents::start_object(size_t) { return begin(false); }
bool JsonEvents::start_array(size_t) { return begin(true); }
bool JsonEvents::end_object() { return end(); }
bool JsonEvents::end_array() { return end(); }

bool JsonEvents::begin(bool array) {
  if (depth_ == most_depth_) throw ConfigError("{}: lies more than {} deep", where_, most_depth_);
  on_begin(array);
  ++depth_;
  return true;
}

bool JsonEvents::end() {
  --depth_;
  on_end();
  return true;
}

bool JsonEvents::parse_error(size_t position, const std::string& token, const nlohmann::detail::exception&) {
  throw ConfigError("{} is not JSON: byte {}, at '{}'", where_, position, printable(token));
}

std::string printable(std::string_view text) {
  constexpr size_t kMost = 80;
  std::string shown;
  for (const char c : text.substr(0, kMost)) {
    if (c >= ' ' && c <= '~')
      shown += c;
    else
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text.size() > kMost ? shown + "..." : shown;
}

nlohmann::json read_json(const fs::path& path, uint64_t most_bytes) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) throw ConfigError("{}: no such file", path.string());
  if (const uint64_t bytes = fs::file_size(path); bytes > most_bytes)
    throw ConfigError("{}: {} bytes, at most {} are read", path.string(), bytes, most_bytes);
  const std::string text = read_file(path);
  DepthOnly(path.string()).read(text);
  Json json = Json::parse(text);
  if (!json.is_object()) throw ConfigError("{}: is not a JSON object", path.string());
  return json;
}

}  // namespace temper
