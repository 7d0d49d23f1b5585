#include "trainer/cold_start/data_rows.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"

namespace temper::trainer {

DataRows rows_of_data(const ConversationSource& source, const policy::Tokenizer& tokenizer,
                      int64_t max_tokens, bool keep) {
  DataRows data;
  std::string too_long;
  data.facts = read_conversation_batches(source, [&](const std::vector<rollout::ChatExample>& examples) {
    LearnedRows batch = rows_of_examples(examples, tokenizer, max_tokens);
    data.longest = std::max(data.longest, batch.longest());
    data.learned.left_out += batch.left_out;
    if (too_long.empty()) too_long = batch.too_long;
    if (keep) std::ranges::move(batch.rows, std::back_inserter(data.learned.rows));
  });
  if (data.learned.left_out == data.facts.conversations)
    throw ConfigError(
        "{}: must have at most {}, which is cold_start.max_tokens or the model's max_position_embeddings; no "
        "conversation has",
        too_long, max_tokens);
  return data;
}

}  // namespace temper::trainer
