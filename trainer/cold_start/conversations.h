#pragma once
// Conversations to learn from, out of a file or a folder of files: rows as base/input/rows/rows.h reads them, in a
// form that trainer/cold_start/conversation_form.h knows.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rollout/chat_examples.h"
#include "trainer/cold_start/data_fields.h"

namespace temper::trainer {

struct ConversationSource {
  std::string path;
  DataFields fields = {};
  std::vector<std::string> pythons = {};  // RowOptions::pythons
};

// What was read.
struct ConversationFacts {
  int64_t conversations = 0;
  std::vector<std::pair<std::string, std::vector<std::string>>> forms =
      {};                                        // name of a form, names of its files
  std::vector<std::string> files_left_out = {};  // of a folder
  std::string first = "";  // messages of the first conversation: "user 12, assistant 30*"

  int64_t files() const;
  // "8917 conversations from DIR (2 files), messages (messages: role, content); left out: 3 longer than 1024
  // tokens, README.md"
  std::string line(const std::string& path, int64_t too_long, int64_t max_tokens) const;
  std::string first_line() const;
};

// False: no more are wanted.
using TakeConversation = std::function<bool(rollout::ChatExample&&)>;

// Each conversation in turn; memory holds one. Errors: ConfigError naming file, line and field; each file must
// hold a conversation. WorldError where the machine fails.
ConversationFacts read_conversations(const ConversationSource& source, const TakeConversation& take);

// The same, many at a time.
ConversationFacts read_conversation_batches(
    const ConversationSource& source,
    const std::function<void(const std::vector<rollout::ChatExample>&)>& take);

}  // namespace temper::trainer
