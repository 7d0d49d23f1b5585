#pragma once
// Memory shared between the broker and one box.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/process.h"

namespace temper::env {

// A mapping, unmapped when destroyed.
class Mapping {
 public:
  Mapping() = default;
  // Errors: WorldError.
  Mapping(int file, int64_t bytes);
  Mapping(Mapping&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();
  uint8_t* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
};

// A memory file of fixed size: sealed, so that no box can shrink it under us.
Fd sealed_memory(const char* name, int64_t bytes);
// Shared memory with this content.
Fd memory_with(const char* name, const std::string& content);

// Maps the whole of an inherited descriptor.
Mapping map_whole(int file);

}  // namespace temper::env
