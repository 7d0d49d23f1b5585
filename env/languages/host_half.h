#pragma once
// The compiled host half of a CUDA candidate. Candidates that differ only in the bodies of their kernels share it.

#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>

namespace temper::env {

// A host half; both strings are empty if none is known.
struct HostHalf {
  std::string stubs;   // what calls kernels by their name, in C, as the device's compiler wrote it
  std::string object;  // the shared object, made of a host text (languages/cuda_text.h), these stubs and
                       // nothing else
};

enum class HostOrigin : uint8_t { kNone, kMade, kKnown };  // none: the candidate did not come that far

// A least-recently-used cache of host halves by the digest of their host text. The stubs were written by a
// compiler that ran on a candidate and are not trusted: before a half is used, they are compared with the stubs
// of the candidate at hand.
class HostHalves {
 public:
  explicit HostHalves(int64_t bytes) : bytes_(bytes) {}
  HostHalf find(const std::string& digest);
  // Replaces the half of that digest. A half that is larger than the whole cache is not kept.
  void keep(const std::string& digest, HostHalf half);
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

}  // namespace temper::env
