#pragma once
// Byte-pair encoding. Source: Sennrich et al., 1508.07909, algorithm 1, applied in the order in which the merges
// were learned; what becomes of characters without a piece is that of `tokenizers` 0.23, src/models/bpe.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy/text/pieces/neighbours.h"
#include "policy/text/pieces/piece_cache.h"

namespace temper::policy {

// The ids of the smallest pieces. −1: there is none.
struct Alphabet {
  bool bytes = true;                  // pieces are of bytes; false: of characters
  std::array<int32_t, 256> byte_ids;  // of bytes, or the pieces to which characters without one fall back
  std::unordered_map<char32_t, int32_t> characters = {};
  bool byte_fallback = false;  // of characters
  int32_t unknown = -1;        // stands for what has no piece; without it that is left out
  bool fuse_unknown = false;   // one for several in a row
};

// The ids of one piece of text. Linear in the length of short pieces that repeat, n log n for long ones.
class BytePairs {
 public:
  struct Merge {
    int32_t left, right, result;
  };
  // `merges`: by falling priority. `whole`: the pieces that are one token regardless of the merges. `pieces`: the texts
  // of all pieces of characters.
  BytePairs(Alphabet alphabet, const std::vector<Merge>& merges,
            std::unordered_map<std::string, int32_t> whole, const std::vector<std::string>& pieces);

  // Appends the ids of `piece`, valid UTF-8. Remembers short pieces, thread by thread.
  void encode(std::string_view piece, std::vector<int32_t>& ids) const;
  // Appends the id of a byte that is no UTF-8.
  void encode_byte(uint8_t byte, std::vector<int32_t>& ids) const;
  // The bytes so far that had no piece.
  int64_t lost_bytes() const { return lost_bytes_; }

 private:
  struct Rule {
    uint64_t pair = kNoPair;
    uint32_t rank = 0;
    int32_t result = 0;
  };
  static constexpr uint64_t kNoPair = ~uint64_t(0);

  bool loses(std::string_view piece) const;
  bool falls_back(std::string_view character, std::vector<int32_t>& ids) const;
  void smallest(std::string_view piece, std::vector<int32_t>& ids) const;
  void cut(std::string_view piece, std::vector<int32_t>& ids) const;
  const Rule* find(int32_t left, int32_t right) const;
  void merge_short(const std::vector<int32_t>& symbols, std::vector<int32_t>& ids) const;
  void merge_long(const std::vector<int32_t>& symbols, std::vector<int32_t>& ids) const;
  void merge(std::string_view piece, std::vector<int32_t>& ids) const;

  Alphabet alphabet_;
  bool complete_;            // every text has pieces
  std::vector<Rule> rules_;  // open addressing, a power of two
  std::unordered_map<std::string, int32_t> whole_;
  Neighbours neighbours_;
  bool cuts_ = false;  // texts of characters are cut where no piece goes across
  mutable std::atomic<int64_t> lost_bytes_ = 0;
  PieceCache<2> cache_;
  PieceCache<4> words_;
};

}  // namespace temper::policy
