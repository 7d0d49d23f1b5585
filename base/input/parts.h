#pragma once
// Texts and numbers one behind another in bytes, as messages between our processes carry them. Whoever reads them may have got
// anything.

#include <cstdint>
#include <cstring>
#include <string>

namespace temper {

// Behind its length.
inline void append_part(std::string& bytes, const std::string& part) {
  const uint64_t size = part.size();
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += part;
}

// Takes parts from the front of some bytes, which outlive it. Nothing is taken where too little is left.
class Parts {
 public:
  explicit Parts(const std::string& bytes) : bytes_(bytes) {}

  template <class Number>
  bool take(Number& number) {
    if (bytes_.size() - at_ < sizeof number) return false;
    std::memcpy(&number, bytes_.data() + at_, sizeof number);
    at_ += sizeof number;
    return true;
  }

  // A part of at most that many bytes.
  bool take(std::string& part, size_t most) {
    uint64_t size = 0;
    if (!take(size) || size > most || bytes_.size() - at_ < size) return false;
    part = bytes_.substr(at_, size);
    at_ += size;
    return true;
  }

  bool ended() const { return at_ == bytes_.size(); }

 private:
  const std::string& bytes_;
  size_t at_ = 0;
};

}  // namespace temper
