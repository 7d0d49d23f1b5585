#pragma once
// Conversations to learn from, as a file has them: a JSON object on each line,
//
//   {"messages": [{"role": "system", "content": "…"}, {"role": "user", "content": "…"},
//                 {"role": "assistant", "content": "…", "weight": 0.5}, …]}
//
// At most one message of the system stands first; then the user's and the assistant's alternate, and the
// assistant's is the last. An assistant's message may have a `weight` in the loss, a number of at least 0, and
// `train: false`, which makes that weight 0; it has weight 1 without them. Other keys of the line are ignored,
// other keys of a message are refused, since what they mean would be lost.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace temper::rollout {

struct ChatMessage {
  std::string role;  // system, user or assistant
  std::string content;
  double weight = 0;  // weight in the loss; 0 for all messages that are not the assistant's
};

struct ChatExample {
  std::vector<ChatMessage> messages;
  int64_t line = 0;  // line number in its file, from 1
  // Not learned from. These are written after the messages if they are set.
  std::string task = "";
  double speedup = 0;
  int64_t seed = 0;
};

// Errors: ConfigError naming file, line and what is allowed; the file must hold at least one conversation, and
// each of them something to learn. WorldError if the file cannot be read. Blank lines are skipped.
std::vector<ChatExample> read_chat_examples(const std::filesystem::path& file);

// Whether the text, which the policy may have written, can be stored in JSON.
bool is_utf8(const std::string& text);

// The line without its end. All texts must be UTF-8.
std::string to_line(const ChatExample& example);

}  // namespace temper::rollout
