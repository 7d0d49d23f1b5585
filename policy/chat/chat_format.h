#pragma once
// Roles ↔ ids, append only: what has been appended is never written again.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/chat/chat_layout.h"
#include "policy/chat/chat_text.h"
#include "policy/text/tokenizer.h"

namespace temper::policy {

// How a family of models writes conversations. Content is plain text and never becomes a control token, whatever it
// contains. Ids equal those that transformers makes of what the folder's chat template renders, except where the template
// rewrites an earlier turn (ChatLayout::rewrites), and where an answer's first characters would be one token with the last
// ones of the prompt: a model answers behind the prompt's own ids.
class ChatFormat {
 public:
  // `name`: one of names(). auto: the layout chosen for the tokenizer (policy/chat/choice.h), or else that of Temper's own
  // models or that which the special tokens tell. `tokenizer` must outlive the format. Errors: ConfigError if the name is
  // not known, there is no layout, or the tokenizer lacks a token of it.
  explicit ChatFormat(const Tokenizer& tokenizer, std::string_view name = "auto");

  // auto, chatml, …
  static std::vector<std::string> names();
  const std::string& name() const { return layout_->name; }
  const ChatLayout& layout() const { return *layout_; }

  // The start of a conversation: a system message if there is one, or the family's own, the user's first
  // message, and the opening of the answer. Errors: ConfigError if the layout does not write such a message.
  std::vector<int32_t> first_turn(std::string_view content,
                                  std::optional<std::string_view> system = {}) const;
  // What stands between the stop token of an answer and a further message of the user, that message, and the opening of
  // the next answer: what generation continues. `reasons`: where the family reasons. Without: the answer to come is to
  // begin without reasoning. Errors: as above.
  std::vector<int32_t> user_turn(std::string_view content, bool reasons = true) const;
  // The part at the end of an answer's opening that belongs to its reasoning, which templates leave out of earlier
  // turns. Empty if the answer itself begins the reasoning.
  std::vector<int32_t> opening_reasoning() const;

  // A whole conversation with given answers.
  struct Conversation {
    struct Span {
      size_t begin = 0, end = 0;
    };
    std::vector<int32_t> ids;  // with an answer at the end up to the stop token, else with the opening of one
    std::vector<Span> answers;  // each with its stop token, from where a model would have begun to write
    int64_t control_names = 0;  // names of control tokens in contents, which stay text
  };
  // Errors: ConfigError if the roles do not alternate, or a message is one that the layout does not write.
  Conversation conversation(std::span<const ChatMessage> messages) const;
  std::vector<int32_t> closing() const;  // behind the last stop token, where no turn follows

  // The first one is the family's own; a model may end its answer with any.
  const std::vector<int32_t>& stop_ids() const { return stop_ids_; }
  int32_t stop_id() const { return stop_ids_.front(); }
  // Those among them that the layout itself names.
  std::span<const int32_t> own_stop_ids() const { return std::span(stop_ids_).first(own_stops_); }
  // Does the opening of the answer open <think> as well, so that the answer starts inside the reasoning?
  bool opens_reasoning() const;

 private:
  // Ids of the text behind the token `behind`; empty: of a text's start.
  std::vector<int32_t> encode(const MarkedText& text, std::string_view behind) const;
  std::vector<int32_t> encode_apart(const MarkedText& text) const;
  std::vector<int32_t> encode_anew(const MarkedText& text) const;
  std::vector<int32_t> answer_ids(const WrittenTurn& turn, std::string_view behind,
                                  const std::vector<int32_t>& prompt) const;
  void check(std::span<const ChatMessage> messages) const;

  const Tokenizer* tokenizer_;
  const ChatLayout* layout_;
  std::vector<int32_t> stop_ids_;
  size_t own_stops_ = 0;
};

}  // namespace temper::policy
