#include "trainer/learn/batch_digest.h"

#include <bit>
#include <cstring>
#include <span>

namespace temper::trainer {
namespace {

// Each step can be undone for any word, so that nothing of a word is lost on the way to the end.
uint64_t add_word(uint64_t digest, uint64_t word) {
  return std::rotl(digest ^ word, 29) * 0x9e3779b97f4a7c15;
}

template <class T>
uint64_t add_numbers(uint64_t digest, const std::vector<T>& numbers) {
  digest = add_word(digest, numbers.size());
  const std::span<const std::byte> bytes = std::as_bytes(std::span(numbers));
  for (size_t begin = 0; begin < bytes.size(); begin += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + begin, std::min(sizeof word, bytes.size() - begin));
    digest = add_word(digest, word);
  }
  return digest;
}

}  // namespace

uint64_t digest_of(const rollout::Batch& batch) {
  uint64_t digest = add_word(0, uint64_t(batch.step));
  for (const rollout::BatchRow& one : rollout::rows_of(batch)) {
    digest = add_numbers(digest, one.row().ids);
    digest = add_numbers(digest, one.row().roles);
    digest = add_numbers(digest, one.row().log_probs);
  }
  return digest;
}

uint64_t digest_of(const TokenAdvantages& advantages) {
  uint64_t digest = 0;
  for (const RowAdvantages& row : advantages) {
    digest = add_numbers(digest, row.advantage);
    digest = add_numbers(digest, row.mask);
  }
  return digest;
}

uint64_t digest_of(const std::vector<LearnedRow>& rows) {
  uint64_t digest = 0;
  for (const LearnedRow& row : rows) {
    digest = add_numbers(digest, row.ids);
    digest = add_numbers(digest, row.weights());
  }
  return digest;
}

}  // namespace temper::trainer
