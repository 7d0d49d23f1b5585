#pragma once
// The ids of short pieces of text that come again and again.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace temper::policy {

// Remembers pieces of less than 8 * kWords bytes, thread by thread. A thread's memory belongs to the
// tokenizer that it used last. Safe to call from several threads.
template <size_t kWords>
class PieceCache {
 public:
  // Appends the ids of `piece`: those that were remembered, or else what make(piece, ids) appends.
  template <typename Make>
  void encode(std::string_view piece, std::vector<int32_t>& ids, const Make& make) const {
    if (piece.size() > kBytes) return make(piece, ids);
    const Key key = key_of(piece);
    Entry& entry = entries()[slot_of(key)];
    if (entry.count == 0 || entry.key != key) {
      const size_t before = ids.size();
      make(piece, ids);
      if (ids.size() - before > kBytes) return;
      entry.key = key;
      entry.count = uint8_t(ids.size() - before);
      std::copy(ids.begin() + std::ptrdiff_t(before), ids.end(), entry.ids.begin());
      return;
    }
    ids.insert(ids.end(), entry.ids.begin(), entry.ids.begin() + entry.count);
  }

 private:
  static constexpr size_t kBytes = 8 * kWords - 1, kEntries = size_t(1) << 16;

  using Key = std::array<uint64_t, kWords>;  // the bytes, and their number in the last one
  struct Entry {
    Key key = {};
    uint8_t count = 0;  // 0: empty
    std::array<int32_t, kBytes> ids;
  };

  static Key key_of(std::string_view piece) {
    Key key = {};
    std::memcpy(key.data(), piece.data(), piece.size());
    key.back() |= uint64_t(piece.size()) << 56;
    return key;
  }

  static size_t slot_of(const Key& key) {
    uint64_t hash = 0;
    for (const uint64_t word : key) {
      hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
      hash ^= hash >> 32;
    }
    return hash & (kEntries - 1);
  }

  Entry* entries() const {
    thread_local struct {
      uint64_t serial = 0;
      std::unique_ptr<Entry[]> entries;
    } memory;
    if (memory.serial != serial_) {
      memory.entries = std::make_unique<Entry[]>(kEntries);
      memory.serial = serial_;
    }
    return memory.entries.get();
  }

  static uint64_t next_serial() {
    static std::atomic<uint64_t> last = 0;
    return ++last;
  }

  const uint64_t serial_ = next_serial();  // distinguishes the caches of several tokenizers
};

}  // namespace temper::policy
