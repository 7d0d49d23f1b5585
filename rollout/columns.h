#pragma once
// Columns of numbers and texts in one file, which is a safetensors file: any reader of that format gets the
// columns, and a raw column can be mapped into memory as it is on the disk.
//
// The header's __metadata__ contains notes. "sha256" is the digest of header and data, computed with 64 zeros in its
// place. "zstd" lists the compressed columns, each of which is one zstd frame in a U8 tensor, with the dtype and
// length that they have when unpacked: {"turn.verdict": ["U8", 812], …}. A text is always compressed. Wider numbers
// come first, so that each column begins at a multiple of its number's size; the data begin at a multiple of 64 bytes.

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace temper::rollout {

// The format's names of the numbers that a column may hold.
template <class T>
constexpr const char* column_dtype();
template <>
constexpr const char* column_dtype<uint8_t>() {
  return "U8";
}
template <>
constexpr const char* column_dtype<int32_t>() {
  return "I32";
}
template <>
constexpr const char* column_dtype<float>() {
  return "F32";
}
template <>
constexpr const char* column_dtype<int64_t>() {
  return "I64";
}
template <>
constexpr const char* column_dtype<double>() {
  return "F64";
}

class ColumnWriter {
 public:
  void note(const std::string& key, std::string value) { notes_[key] = std::move(value); }
  void add_text(const std::string& name, std::string_view text) {
    add(name, "U8", 1, std::as_bytes(std::span(text)), true);
  }
  // `compress`: as a zstd frame. The numbers must live until file().
  template <class T>
  void add(const std::string& name, const std::vector<T>& numbers, bool compress) {
    add(name, column_dtype<T>(), sizeof(T), std::as_bytes(std::span(numbers)), compress);
  }
  // The file's bytes.
  std::string file() const;

 private:
  struct Column {
    std::string name;
    const char* dtype;
    size_t width;  // bytes of a number
    std::span<const std::byte> numbers;
    bool packed;
    std::string frame;  // the zstd frame, if the numbers are compressed

    std::span<const std::byte> data() const { return packed ? std::as_bytes(std::span(frame)) : numbers; }
    size_t stored_width() const { return packed ? 1 : width; }
  };
  void add(const std::string& name, const char* dtype, size_t width, std::span<const std::byte> numbers,
           bool compress);
  std::string header(const std::string& digest) const;

  std::map<std::string, std::string> notes_;
  std::vector<Column> columns_;
};

class ColumnReader {
 public:
  // Checks lengths, shapes, places and the digest before anything is used, and unpacks compressed columns. Errors:
  // ConfigError that does not name the file, and says so if the file was cut short.
  explicit ColumnReader(std::string bytes);
  ColumnReader(const ColumnReader&) = delete;
  ColumnReader& operator=(const ColumnReader&) = delete;

  bool has(const std::string& name) const { return columns_.contains(name); }
  const std::string& note(const std::string& key) const;  // Errors: ConfigError
  std::string_view text(const std::string& name) const;   // Errors: ConfigError
  // Errors: ConfigError where there is no such column, or one of other numbers.
  template <class T>
  std::span<const T> numbers(const std::string& name) const {
    const std::span<const std::byte> data = find(name, column_dtype<T>());
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }

 private:
  struct Column {
    std::string dtype;
    std::span<const std::byte> data;
  };
  struct Frame {
    std::string dtype;
    int64_t length = 0;
  };
  void read_header();
  Column column_from(const std::string& column, const nlohmann::json& about,
                     std::span<const std::byte> data) const;
  void check_digest(std::string head, std::span<const std::byte> data) const;
  std::map<std::string, Frame> read_frames() const;
  void unpack(const std::string& column, const Frame& frame);
  std::span<const std::byte> find(const std::string& name, const char* dtype) const;

  std::string bytes_;
  std::map<std::string, std::string> notes_;
  std::map<std::string, Column> columns_;
  std::map<std::string, std::vector<std::byte>> unpacked_;
};

}  // namespace temper::rollout
