#include "env/languages/host_half.h"

#include <iterator>
#include <utility>

namespace temper::env {
namespace {

constexpr int64_t kLargestPart =
    16;  // an entry has at most 1/16 of all bytes, so that it displaces few others

}  // namespace

HostHalf HostHalves::find(const std::string& digest) {
  const auto known = by_digest_.find(digest);
  if (known == by_digest_.end()) return {};
  entries_.splice(entries_.begin(), entries_, known->second);
  return known->second->half;
}

void HostHalves::keep(const std::string& digest, HostHalf half) {
  if (const auto known = by_digest_.find(digest); known != by_digest_.end()) drop(known->second);
  Entry entry{digest, std::move(half)};
  if (entry.bytes() > bytes_ / kLargestPart) return;
  held_ += entry.bytes();
  entries_.push_front(std::move(entry));
  by_digest_[digest] = entries_.begin();
  while (held_ > bytes_) drop(std::prev(entries_.end()));
}

void HostHalves::drop(std::list<Entry>::iterator entry) {
  held_ -= entry->bytes();
  by_digest_.erase(entry->digest);
  entries_.erase(entry);
}

}  // namespace temper::env
