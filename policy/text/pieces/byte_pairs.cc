#include "policy/text/pieces/byte_pairs.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <set>
#include <tuple>

#include "policy/text/pieces/characters.h"

namespace temper::policy {
namespace {

constexpr size_t kShort = 24;  // bytes; longer pieces are merged with a heap

uint64_t mixed(uint64_t x) {
  x *= 0x9E3779B97F4A7C15ull;
  return x ^ (x >> 32);
}

uint64_t pair_of(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }

}  // namespace

BytePairs::BytePairs(Alphabet alphabet, const std::vector<Merge>& merges,
                     std::unordered_map<std::string, int32_t> whole, const std::vector<std::string>& pieces)
    : alphabet_(std::move(alphabet)),
      complete_((alphabet_.bytes || alphabet_.byte_fallback) &&
                std::ranges::count(alphabet_.byte_ids, -1) == 0),
      rules_(std::bit_ceil(2 * merges.size() + 2)),
      whole_(std::move(whole)) {
  const std::set<int32_t> bytes(alphabet_.byte_ids.begin(), alphabet_.byte_ids.end());
  bool merges_bytes = false;
  uint32_t rank = 0;
  for (const Merge& merge : merges) {
    const uint64_t pair = pair_of(merge.left, merge.right);
    size_t at = mixed(pair) & (rules_.size() - 1);
    while (rules_[at].pair != kNoPair && rules_[at].pair != pair) at = (at + 1) & (rules_.size() - 1);
    // `tokenizers` lets the later of two equal merges win.
    rules_[at] = {pair, rank++, merge.result};
    merges_bytes = merges_bytes || bytes.contains(merge.left) || bytes.contains(merge.right);
  }
  // Unknown characters that are fused, and merged bytes, know no border between characters.
  cuts_ = !alphabet_.bytes && complete_ && !merges_bytes;
  if (cuts_)
    for (const std::string& piece : pieces) neighbours_.add(piece);
}

const BytePairs::Rule* BytePairs::find(int32_t left, int32_t right) const {
  const uint64_t pair = pair_of(left, right);
  for (size_t at = mixed(pair) & (rules_.size() - 1);; at = (at + 1) & (rules_.size() - 1)) {
    if (rules_[at].pair == pair) return &rules_[at];
    if (rules_[at].pair == kNoPair) return nullptr;
  }
}

// Looks for the best pair again after each merge, among few.
void BytePairs::merge_short(const std::vector<int32_t>& symbols, std::vector<int32_t>& ids) const {
  std::array<int32_t, kShort> token;
  std::array<const Rule*, kShort> rule;  // of a token and the next
  size_t count = symbols.size();
  std::ranges::copy(symbols, token.begin());
  for (size_t i = 0; i + 1 < count; ++i) rule[i] = find(token[i], token[i + 1]);
  while (count > 1) {
    size_t best = count;
    for (size_t i = 0; i + 1 < count; ++i)
      if (rule[i] && (best == count || rule[i]->rank < rule[best]->rank)) best = i;
    if (best == count) break;
    token[best] = rule[best]->result;
    std::copy(token.begin() + best + 2, token.begin() + count, token.begin() + best + 1);
    std::copy(rule.begin() + best + 2, rule.begin() + count, rule.begin() + best + 1);
    --count;
    if (best > 0) rule[best - 1] = find(token[best - 1], token[best]);
    if (best + 1 < count) rule[best] = find(token[best], token[best + 1]);
  }
  ids.insert(ids.end(), token.begin(), token.begin() + count);
}

// Merges a long piece with a heap of candidates. A candidate is stale if one of its tokens has changed since.
void BytePairs::merge_long(const std::vector<int32_t>& tokens, std::vector<int32_t>& ids) const {
  struct Symbol {
    int32_t id;
    int32_t before, next;  // −1: none
  };
  using Candidate = std::tuple<uint32_t, int32_t, uint64_t>;  // rank, place of the left token, pair
  std::vector<Symbol> symbols;
  const auto size = int32_t(tokens.size());
  symbols.reserve(tokens.size());
  for (int32_t i = 0; i < size; ++i) symbols.push_back({tokens[size_t(i)], i - 1, i + 1 < size ? i + 1 : -1});
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap;
  const auto look_at = [&](int32_t left) {
    if (left < 0 || symbols[size_t(left)].next < 0) return;
    const int32_t a = symbols[size_t(left)].id, b = symbols[size_t(symbols[size_t(left)].next)].id;
    if (const Rule* rule = find(a, b)) heap.emplace(rule->rank, left, pair_of(a, b));
  };
  for (int32_t i = 0; i + 1 < size; ++i) look_at(i);
  while (!heap.empty()) {
    const auto [rank, left, pair] = heap.top();
    heap.pop();
    Symbol& a = symbols[size_t(left)];
    if (a.id < 0 || a.next < 0 || pair_of(a.id, symbols[size_t(a.next)].id) != pair) continue;
    Symbol& b = symbols[size_t(a.next)];
    a.id = find(a.id, b.id)->result;
    b.id = -1;
    a.next = b.next;
    if (a.next >= 0) symbols[size_t(a.next)].before = left;
    look_at(a.before);
    look_at(left);
  }
  for (int32_t i = 0; i >= 0; i = symbols[size_t(i)].next) ids.push_back(symbols[size_t(i)].id);
}

bool BytePairs::falls_back(std::string_view character, std::vector<int32_t>& ids) const {
  if (!alphabet_.byte_fallback) return false;
  for (const char byte : character)
    if (alphabet_.byte_ids[uint8_t(byte)] < 0) return false;
  for (const char byte : character) ids.push_back(alphabet_.byte_ids[uint8_t(byte)]);
  return true;
}

// Appends the ids of the piece before any merge.
void BytePairs::smallest(std::string_view piece, std::vector<int32_t>& ids) const {
  const Alphabet& a = alphabet_;
  bool unknown = false;  // a token for what is unknown is due
  while (!piece.empty()) {
    const Character next = a.bytes ? Character{uint8_t(piece[0]), 1} : first_of(piece);
    const std::string_view text = piece.substr(0, next.bytes);
    piece.remove_prefix(next.bytes);
    int32_t id = -1;
    if (a.bytes)
      id = a.byte_ids[next.point];
    else if (const auto found = a.characters.find(next.point); found != a.characters.end())
      id = found->second;
    if (id >= 0) {
      if (unknown) ids.push_back(a.unknown);
      unknown = false;
      ids.push_back(id);
    } else if (a.bytes || !falls_back(text, ids)) {
      lost_bytes_ += int64_t(text.size());
      if (unknown && !a.fuse_unknown) ids.push_back(a.unknown);
      unknown = a.unknown >= 0;
    }
  }
  if (unknown) ids.push_back(a.unknown);
}

void BytePairs::merge(std::string_view piece, std::vector<int32_t>& ids) const {
  thread_local std::vector<int32_t> symbols;
  symbols.clear();
  smallest(piece, symbols);
  symbols.size() <= kShort ? merge_short(symbols, ids) : merge_long(symbols, ids);
}

void BytePairs::cut(std::string_view piece, std::vector<int32_t>& ids) const {
  while (!piece.empty()) {
    const std::string_view word = piece.substr(0, neighbours_.word(piece));
    words_.encode(word, ids, [this](std::string_view text, std::vector<int32_t>& out) { merge(text, out); });
    piece.remove_prefix(word.size());
  }
}

// Whether some of the piece has no id. What is lost is counted each time, so that such a piece is not remembered.
bool BytePairs::loses(std::string_view piece) const {
  return alphabet_.bytes
             ? std::ranges::any_of(piece, [this](char c) { return alphabet_.byte_ids[uint8_t(c)] < 0; })
             : true;
}

void BytePairs::encode(std::string_view piece, std::vector<int32_t>& ids) const {
  if (!whole_.empty())
    if (const auto found = whole_.find(std::string(piece)); found != whole_.end()) {
      ids.push_back(found->second);
      return;
    }
  if (cuts_) return cut(piece, ids);
  if (!complete_ && loses(piece)) return merge(piece, ids);
  cache_.encode(piece, ids, [this](std::string_view text, std::vector<int32_t>& out) { merge(text, out); });
}

void BytePairs::encode_byte(uint8_t byte, std::vector<int32_t>& ids) const {
  const int32_t id = alphabet_.bytes || alphabet_.byte_fallback ? alphabet_.byte_ids[byte] : -1;
  if (id < 0) ++lost_bytes_;
  if (id >= 0 || alphabet_.unknown >= 0) ids.push_back(id >= 0 ? id : alphabet_.unknown);
}

}  // namespace temper::policy
