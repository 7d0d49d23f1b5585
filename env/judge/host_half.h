#pragma once
// What candidates in CUDA share that differ in the bodies of their kernels alone.

#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>

namespace temper {

// Empty: none is known.
struct HostHalf {
  std::string stubs;   // what calls kernels by their name, in C, as the device's compiler wrote it
  std::string object;  // the shared object, made of a host text (languages/cuda_text.h), these stubs and
                       // nothing else
};

enum class HostOrigin : uint8_t { kNone, kMade, kKnown };  // none: the candidate did not come that far

// Those that were used last, by the digest of their host text. The stubs came out of a candidate's compiler,
// which is not trusted: who takes a half compares them with its own.
class HostHalves {
 public:
  explicit HostHalves(int64_t bytes) : bytes_(bytes) {}
  HostHalf find(const std::string& digest);
  void keep(const std::string& digest, HostHalf half);  // instead of one that is there; not what is too large
  bool knows(const std::string& digest) const { return by_digest_.contains(digest); }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string digest;
    HostHalf half;
    int64_t bytes() const { return std::ssize(digest) + std::ssize(half.stubs) + std::ssize(half.object); }
  };
  void drop(std::list<Entry>::iterator entry);

  const int64_t bytes_;
  int64_t held_ = 0;
  std::list<Entry> entries_;  // the one used last first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_digest_;
};

}  // namespace temper
