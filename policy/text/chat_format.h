#pragma once
// Roles ↔ ids, append only: what has been appended is never re-rendered.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/text/tokenizer.h"

namespace temper::policy {

struct ChatLayout;  // how a family writes its turns

// How a family of models writes conversations. Content is plain text and never becomes a special token of the
// format, whatever it contains. Ids equal those of transformers' apply_chat_template and, for Mistral, of
// mistral-common, except where these rewrite an earlier turn (Qwen3's template drops the reasoning of earlier
// turns).
class ChatFormat {
 public:
  // `name`: one of names(); auto: the tokenizer's choice, or else recognised by its folder's chat template,
  // or without one by its special tokens. `tokenizer` must outlive the format. Errors: ConfigError if the
  // name or the template is not known, or the tokenizer lacks a token of the format.
  explicit ChatFormat(const Tokenizer& tokenizer, std::string_view name = "auto");

  // auto, chatml, …
  static std::vector<std::string> names();
  std::string_view name() const;

  // The start of a conversation: a system message if there is one, or the family's own, the user's first
  // message, and the opening of the answer.
  std::vector<int32_t> first_turn(std::string_view content, std::string_view system = {}) const;
  // A further message of the user, then the opening of the assistant's: what generation continues.
  // `reasons`: where the family reasons. Without: the answer to come is to begin without reasoning.
  std::vector<int32_t> user_turn(std::string_view content, bool reasons = true) const;
  // The part at the end of an answer's opening that belongs to its reasoning, which templates leave out of earlier
  // turns. Empty if the answer itself begins the reasoning.
  std::vector<int32_t> opening_reasoning() const;
  // An answer as the family writes it, with the stop token. Reasoning in <think> at its front becomes the
  // family's tokens.
  std::vector<int32_t> answer(std::string_view content) const;
  // The tokens between the stop token of an answer and the next user turn.
  std::vector<int32_t> after_answer() const;

  // The first one is the family's own; a model may end its answer with any.
  const std::vector<int32_t>& stop_ids() const { return stop_ids_; }
  int32_t stop_id() const { return stop_ids_.front(); }
  // Does the opening of the answer open <think> as well, so that the answer starts inside the reasoning?
  bool opens_reasoning() const;

 private:
  // The ids of `pattern` with `content` in place of {}: special tokens as tokens, all else as text.
  std::vector<int32_t> render(std::string_view pattern, std::string_view content = {}) const;

  std::string_view trimmed(std::string_view content) const;  // where the format trims at all

  const Tokenizer* tokenizer_;
  const ChatLayout* layout_;
  std::vector<int32_t> stop_ids_;
};

}  // namespace temper::policy
