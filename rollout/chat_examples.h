#pragma once
// Conversations to learn from, and how they are written: a JSON object on each line,
//
//   {"messages": [{"role": "system", "content": "…"}, {"role": "user", "content": "…"},
//                 {"role": "assistant", "content": "…", "weight": 0.5}, …]}
//
// trainer/cold_start/conversations.h reads them, and what others write.

#include <cstdint>
#include <string>
#include <vector>

namespace temper::rollout {

// The role of the only message of an example that is no conversation: it is learned as it stands, from its second token on.
inline constexpr const char* kPlainText = "text";

struct ChatMessage {
  std::string role;  // system, user or assistant; or kPlainText
  std::string content;
  double weight = 0;  // weight in the loss; 0 for the system's and the user's messages
};

struct ChatExample {
  std::vector<ChatMessage> messages;
  bool plain() const { return messages.size() == 1 && messages.front().role == kPlainText; }
  std::string place = "";  // where it was read: "data.jsonl:3"
  // Not learned from. These are written after the messages if they are set.
  std::string task = "";
  double speedup = 0;
  int64_t seed = 0;
};

// Whether the text, which the policy may have written, can be stored in JSON.
bool is_utf8(const std::string& text);

// The line without its end. All texts must be UTF-8.
std::string to_line(const ChatExample& example);

}  // namespace temper::rollout
