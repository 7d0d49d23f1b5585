#include "policy/chat_format.h"

namespace temper {
namespace {

void append(std::vector<int32_t>& ids, const std::vector<int32_t>& more) {
  ids.insert(ids.end(), more.begin(), more.end());
}

}  // namespace

ChatFormat::ChatFormat(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

std::vector<int32_t> ChatFormat::user_turn(std::string_view content) const {
  const int32_t start = tokenizer_->special("<|im_start|>");
  std::vector<int32_t> ids = {start};
  append(ids, tokenizer_->encode("user\n"));
  append(ids, tokenizer_->encode(content));
  ids.push_back(stop_id());
  append(ids, tokenizer_->encode("\n"));
  ids.push_back(start);
  append(ids, tokenizer_->encode("assistant\n"));
  return ids;
}

std::vector<int32_t> ChatFormat::after_answer() const { return tokenizer_->encode("\n"); }

int32_t ChatFormat::stop_id() const { return tokenizer_->special("<|im_end|>"); }

}  // namespace temper
