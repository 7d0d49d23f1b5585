#pragma once
// How a family of models writes conversations, as data: what stands before and behind each content, what is taken
// off contents, and what ends an answer. Known layouts are a table (policy/chat/known_layouts.h); others are read off
// a folder's chat template (policy/chat/derivation.h).

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace temper::policy {

// White space that a template takes off a content: any of these characters, UTF-8.
struct Trim {
  std::string left, right;
  bool operator==(const Trim&) const = default;
};

inline constexpr std::string_view kThink = "<think>", kEndThink = "</think>";

// What Python's strip() takes off.
inline constexpr std::string_view kWhiteSpace =
    "\t\n\v\f\r\x1C\x1D\x1E\x1F "
    "\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A"
    "\u2028\u2029\u202F\u205F\u3000";

// A message of the user, and what leads to the answer.
struct UserTurn {
  // Before the content. Of the first turn: from the start of the text, or from behind the system's content. Of a
  // further turn: from behind the token that ended the answer.
  std::string before;
  Trim trim = {};
  std::string after;         // behind the content, up to where a model continues
  std::string told;          // in its place before the conversation's last answer, where that is given
  std::string told_earlier;  // before a given answer that another turn follows
  std::string reasoned;      // before the reasoning of a given answer; empty: see ReasoningUse
  bool operator==(const UserTurn&) const = default;
};

enum class ReasoningUse {
  kText,     // <think> has no meaning to the template
  kWritten,  // the last answer's reasoning is written as UserTurn::reasoned and `behind_reasoning` say
  kDropped,  // the template leaves out all reasoning; what is given is written as a model would have written it
};

// Where the template writes what ends an answer. Elsewhere `answer_end` is the tokenizer's own end, since a model has to stop.
enum class EndUse {
  kWritten,
  kBetween,  // not behind a last answer
  kNever,
};

// What a layout does not write, because the template does something else with it.
namespace chat_limits {
inline constexpr std::string_view kSystem = "system message", kEmptySystem = "empty system message",
                                  kEmptyUser = "empty user message", kEmptyAnswer = "empty answer",
                                  kReasoning = "answer with reasoning",
                                  kOddReasoning =
                                      "answer in which <think> and </think> are not one pair in front";
}  // namespace chat_limits

struct ChatLayout {
  std::string name;         // of a known one; "template" of one that was derived
  std::string source = {};  // digest of the template, its arguments and its date; empty: a known one
  int64_t tried = 0;        // conversations on which it was compared with the template
  std::string date = {};    // YYYY-MM-DD, what the template's clock showed
  std::string before_system = {};
  Trim system_trim = {};
  bool empty_system_is_none = false;
  UserTurn first, first_with_system, further;
  Trim answer_trim = {}, earlier_answer_trim = {};  // of the last answer, and of those before it
  std::string answer_end;                           // behind an answer, up to and with the token that ends it
  std::string stop;                                 // the name of that token
  EndUse end_use = EndUse::kWritten;
  std::vector<std::string> more_stops = {};  // tokens that end an answer too, where the tokenizer has them
  std::string closing = {};                  // behind that token, where no turn follows
  ReasoningUse reasoning = ReasoningUse::kText;
  bool reasoning_needs_opening = false;  // </think> without <think> in front has no meaning
  Trim reasoning_trim = {}, reasoned_answer_trim = {};
  Trim dropped_trim = {};  // what the template takes off an answer of which it leaves out the reasoning
  std::string behind_reasoning = "\n</think>\n\n";
  std::set<std::string> limits = {};  // chat_limits, and in `why` the template's own words where it has some
  std::string why = {};
  std::vector<std::string> tokens = {};  // that the tokenizer must have
  std::vector<std::string> rewrites =
      {};                  // what the template changes in earlier turns and this layout does not
  bool joins_text = true;  // text around a content is encoded together with it
  // Text behind a token is encoded as that at the start of a conversation, whatever the tokenizer does itself: so does
  // mistral-common.
  bool starts_anew = false;
  bool operator==(const ChatLayout&) const = default;
};

// Errors of layout_from: ConfigError beginning with `origin`.
nlohmann::json to_json(const ChatLayout& layout);
ChatLayout layout_from(std::string_view json, const std::string& origin);

}  // namespace temper::policy
