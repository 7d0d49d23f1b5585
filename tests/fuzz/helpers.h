#pragma once
// What several targets need.

#include <unistd.h>

#include <exception>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace temper::fuzz {

// Whether a reader took what it was given; a ConfigError says that it did not.
template <class F>
bool taken(const F& read) {
  try {
    read();
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

// For readers whose callers take any exception for the peer's mistake.
template <class F>
void either_way(const F& read) {
  try {
    read();
  } catch (const std::exception&) {
  }
}

// A file in memory's own file system, for readers that want a path.
class ScratchFile {
 public:
  explicit ScratchFile(const char* name)
      : path_(fmt::format("/dev/shm/temper_fuzz_{}_{}", ::getpid(), name)) {}
  ~ScratchFile() { ::unlink(path_.c_str()); }
  const std::string& holding(std::string_view bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }

 private:
  std::string path_;
};

// Takes numbers off the front.
class Front {
 public:
  explicit Front(std::string_view bytes) : rest_(bytes) {}
  uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = uint8_t(rest_[0]);
    rest_.remove_prefix(1);
    return value;
  }
  uint32_t word() {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | byte();
    return value;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace temper::fuzz
