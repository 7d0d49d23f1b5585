#pragma once
// The conversations of cold_start.data as rows of tokens.

#include "trainer/cold_start/conversations.h"
#include "trainer/cold_start/learned_rows.h"

namespace temper::trainer {

struct DataRows {
  LearnedRows learned;
  ConversationFacts facts;
  int64_t longest = 0;  // tokens
};

// Reads the file or folder once; a batch of texts at a time is in memory beside the rows. Conversations of more
// than `max_tokens` are left out and counted. `keep` false: the rows are counted and let go. Errors: as
// read_conversations, and ConfigError naming the place of a conversation that the chat format does not write, or
// if all are too long.
DataRows rows_of_data(const ConversationSource& source, const policy::Tokenizer& tokenizer,
                      int64_t max_tokens, bool keep = true);

}  // namespace temper::trainer
