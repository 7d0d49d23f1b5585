#pragma once
// Bytes one after another, from a file as it is, from a compressed one or from a program.

#include <zlib.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/input/file.h"

namespace temper {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // At most so many bytes; 0 at the end. Errors: ConfigError without the file's name, WorldError.
  virtual size_t read(char* to, size_t most) = 0;
};

// What a descriptor gives, which outlives it.
class DescriptorBytes : public ByteSource {
 public:
  explicit DescriptorBytes(int fd) : fd_(fd) {}
  size_t read(char* to, size_t most) override;

 private:
  int fd_;
};

// What gzip made, of one part or of several one behind another (RFC 1952). Memory: some 100 KiB. Errors:
// ConfigError where it is damaged, not whole, has more behind it, or unpacks to far more than data do, which is
// how a small file fills a machine.
class GzipBytes : public ByteSource {
 public:
  explicit GzipBytes(int fd);
  ~GzipBytes() override;
  GzipBytes(const GzipBytes&) = delete;
  GzipBytes& operator=(const GzipBytes&) = delete;
  size_t read(char* to, size_t most) override;

 private:
  bool fill();          // false at the file's end
  bool begins_again();  // whether another part follows the one that has ended

  DescriptorBytes packed_;
  std::array<char, 1 << 16> buffer_;
  z_stream stream_ = {};
  uint64_t read_ = 0, made_ = 0;
  bool in_part_ = true, ended_ = false;
};

}  // namespace temper
