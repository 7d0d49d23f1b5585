#pragma once
// The place in a file of rows, byte by byte, as nlohmann's parser wants it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/input/rows/byte_source.h"

namespace temper {

// What is wrong with the file and not with one of its rows.
class FileFault : public ConfigError {
 public:
  explicit FileFault(const std::string& text) : ConfigError(text) {}
};

class RowCursor {
 public:
  RowCursor(ByteSource& source, uint64_t most_row_bytes) : source_(source), most_(most_row_bytes) {}

  bool at_end() { return at_ == size_ && !fill(); }
  bool ran_out() const { return ran_out_; }  // somebody has asked at the end
  char byte() { return buffer_[at_]; }       // not at the end
  void advance() {
    if (buffer_[at_] == '\0') throw ConfigError("it is not JSON: it holds a NUL");
    if (buffer_[at_++] == '\n') {
      ++line_, column_ = 0;
      if (one_line_) throw ConfigError("the line ends in the middle of it");
    } else {
      ++column_;
    }
    if (++row_bytes_ > most_)
      throw ConfigError("it has more than {} bytes, the most that a row may have", most_);
  }
  // What has been read ahead, at most `most` bytes.
  std::string_view front(size_t most) {
    if (at_end()) return {};
    return std::string_view(buffer_.data() + at_, std::min(most, size_ - at_));
  }
  // What comes next is another row's, or stands between rows.
  void begin_row() { row_bytes_ = 0; }
  // From now on a line's end is an error, or none any more.
  void hold_line(bool held) { one_line_ = held; }
  // To the beginning of the next line, whatever this one holds.
  void skip_line() {
    for (bool ended = false; !ended && !at_end();) {
      ended = buffer_[at_++] == '\n';
      ended ? (++line_, column_ = 0) : ++column_;
    }
    row_bytes_ = 0;
  }
  int64_t line() const { return line_; }      // from 1
  int64_t column() const { return column_; }  // bytes of the line that have been read

 private:
  bool fill() {
    try {
      at_ = size_ = 0;
      size_ = source_.read(buffer_.data(), buffer_.size());
    } catch (const ConfigError& e) {
      throw FileFault(e.what());
    }
    ran_out_ = size_ == 0;
    return !ran_out_;
  }

  ByteSource& source_;
  const uint64_t most_;
  std::array<char, 1 << 16> buffer_;
  size_t at_ = 0, size_ = 0;
  bool ran_out_ = false, one_line_ = false;
  int64_t line_ = 1, column_ = 0;
  uint64_t row_bytes_ = 0;
};

// Reads on where its cursor is: all copies move together.
class RowBytes {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  RowBytes() = default;  // the end
  explicit RowBytes(RowCursor& cursor) : cursor_(&cursor) {}
  char operator*() const { return cursor_->byte(); }
  RowBytes& operator++() {
    cursor_->advance();
    return *this;
  }
  RowBytes operator++(int) { return ++*this; }
  bool operator==(const RowBytes& other) const { return ended() == other.ended(); }

 private:
  bool ended() const { return cursor_ == nullptr || cursor_->at_end(); }

  RowCursor* cursor_ = nullptr;
};

}  // namespace temper
