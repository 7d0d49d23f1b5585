#pragma once
// The storage of a KvCache, which each device implements in its own way.

#include <cstdint>
#include <vector>

namespace temper::policy {

struct CacheStorage {
  CacheStorage(int64_t slots, int64_t most) : max_tokens(most), lengths(size_t(slots), 0) {}
  virtual ~CacheStorage() = default;
  virtual void truncate(int64_t slot, int64_t length) { lengths[size_t(slot)] = length; }
  virtual void copy_prefix(int64_t from, int64_t to, int64_t length) = 0;

  int64_t max_tokens;
  std::vector<int64_t> lengths;  // [slots]
};

}  // namespace temper::policy
