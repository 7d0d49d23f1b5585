#pragma once
// Roles ↔ ids, append only: what has been appended is never re-rendered.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/tokenizer.h"

namespace temper {

// ChatML: <|im_start|>role\ncontent<|im_end|>\n
class ChatFormat {
 public:
  explicit ChatFormat(const Tokenizer& tokenizer);

  // A whole message of the user, then the opening of the assistant's: what generation continues.
  std::vector<int32_t> user_turn(std::string_view content) const;
  // What follows an answer that ended with stop_id(), before the next user turn.
  std::vector<int32_t> after_answer() const;
  int32_t stop_id() const;  // <|im_end|>

 private:
  const Tokenizer* tokenizer_;
};

}  // namespace temper
