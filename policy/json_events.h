#pragma once
// JSON that strangers wrote, read event by event: no tree is built, so that a hostile file costs no more than
// its own bytes.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace temper {

// What a reader of one kind of file does with what comes. Each call may throw ConfigError.
class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  // `where` begins every error; containers may lie in each other `most_depth` deep.
  JsonEvents(std::string where, int most_depth) : where_(std::move(where)), most_depth_(most_depth) {}

  // Reads the whole text. Errors: ConfigError where it is not JSON, holds a NUL or lies deeper than allowed.
  void read(std::string_view text);

  bool null() final;
  bool boolean(bool value) final;
  bool number_integer(number_integer_t value) final;
  bool number_unsigned(number_unsigned_t value) final;
  bool number_float(number_float_t value, const string_t& text) final;
  bool string(string_t& value) final;
  bool binary(binary_t& value) final;
  bool start_object(size_t size) final;
  bool key(string_t& name) final;
  bool end_object() final;
  bool start_array(size_t size) final;
  bool end_array() final;
  bool parse_error(size_t position, const std::string& token, const nlohmann::detail::exception& e) override;

 protected:
  virtual void on_key(std::string& name) = 0;
  virtual void on_value(const nlohmann::json& value) = 0;  // neither an object nor an array
  virtual void on_begin(bool array) = 0;                   // depth() does not count it yet
  virtual void on_end() = 0;                               // depth() does not count it any more
  int depth() const { return depth_; }                     // containers around
  const std::string& where() const { return where_; }

 private:
  bool begin(bool array);
  bool end();

  const std::string where_;
  const int most_depth_;
  int depth_ = 0;
};

// At most 80 characters of a stranger's text, escaped where they are not printable ASCII.
std::string printable(std::string_view text);

// A whole file as a tree. Errors: ConfigError naming the path if it is no regular file, is larger than
// `most_bytes`, lies deeper than 32 or is not a JSON object.
nlohmann::json read_json(const std::filesystem::path& path, uint64_t most_bytes = 16'000'000);

}  // namespace temper
