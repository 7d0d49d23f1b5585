#include "trainer/model.h"

#include "policy/hugging_face.h"
#include "trainer/checkpoint/restore.h"

namespace temper {

Model load_model(const std::filesystem::path& dir, const PolicyOptions& options) {
  if (is_checkpoint(dir)) return load_checkpoint(dir, options);
  Tokenizer tokenizer = Tokenizer::load(dir);
  check_tokenizer_fits(tokenizer, read_model_config(dir));
  std::string generation = generation_config(dir);
  return {import_policy(dir, with_tokens(options, tokenizer)), std::move(tokenizer), std::move(generation)};
}

PolicyOptions with_tokens(PolicyOptions options, const Tokenizer& tokenizer) {
  options.token_count = tokenizer.vocab_size();
  return options;
}

}  // namespace temper
