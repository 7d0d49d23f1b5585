#pragma once
// JSON that strangers wrote, read event by event: no tree is built, so that a hostile file costs no more than
// its own bytes.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace temper {

// What a reader of one kind of file does with what comes. Each call may throw ConfigError.
class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  // `where` begins every error; containers may lie in each other `most_depth` deep.
  JsonEvents(std::string where, int most_depth) : where_(std::move(where)), most_depth_(most_depth) {}

  // Reads the whole text. Errors: ConfigError where it is not JSON, begins with a byte order mark, holds a
  // NUL or lies deeper than allowed.
  void read(std::string_view text);
  // Parses CBOR, whose texts may be any bytes.
  void read_cbor(std::string_view bytes);

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
  bool parse_error(size_t position, const std::string& token, const nlohmann::detail::exception& e) final;

 protected:
  virtual void on_key(std::string& name) = 0;
  virtual void on_value(nlohmann::json&& value) = 0;  // neither an object nor an array
  virtual void on_begin(bool array) = 0;              // depth() does not count it yet
  virtual void on_end() = 0;                          // depth() does not count it any more
  // Of an error: "byte 7, at 'x'".
  virtual std::string place(size_t position, const std::string& token) const;
  int depth() const { return depth_; }  // containers around
  const std::string& where() const { return where_; }

 private:
  bool begin(bool array);
  bool end();

  const std::string where_;
  const int most_depth_;
  const char* format_ = "JSON";
  int depth_ = 0;
};

}  // namespace temper
