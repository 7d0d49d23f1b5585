#pragma once
// Byte-pair encoding over bytes. Source: Sennrich et al., 1508.07909, algorithm 1, applied in the order in
// which the merges were learned.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy/text/piece_cache.h"

namespace temper::policy {

// The ids of one piece of text. Linear in the length of short pieces that repeat, n log n for long ones.
class BytePairs {
 public:
  struct Merge {
    int32_t left, right, result;
  };
  // `byte_ids` has the token of each byte, `merges` the merges by falling priority, `whole` the pieces that are one
  // token regardless of the merges.
  BytePairs(const std::array<int32_t, 256>& byte_ids, const std::vector<Merge>& merges,
            std::unordered_map<std::string, int32_t> whole);

  // Appends the ids of `piece`. Remembers short pieces, thread by thread.
  void encode(std::string_view piece, std::vector<int32_t>& ids) const;
  int32_t byte_id(uint8_t byte) const { return byte_ids_[byte]; }

 private:
  struct Rule {
    uint64_t pair = kNoPair;
    uint32_t rank = 0;
    int32_t result = 0;
  };
  static constexpr uint64_t kNoPair = ~uint64_t(0);

  const Rule* find(int32_t left, int32_t right) const;
  void merge_short(std::string_view piece, std::vector<int32_t>& ids) const;
  void merge_long(std::string_view piece, std::vector<int32_t>& ids) const;
  void merge(std::string_view piece, std::vector<int32_t>& ids) const;

  std::array<int32_t, 256> byte_ids_;
  std::vector<Rule> rules_;  // open addressing, a power of two
  std::unordered_map<std::string, int32_t> whole_;
  PieceCache<2> cache_;
};

}  // namespace temper::policy
