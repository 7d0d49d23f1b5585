#include "trainer/model.h"

#include "policy/chat_format.h"
#include "policy/hugging_face.h"
#include "trainer/checkpoint/restore.h"

namespace temper {

namespace {

void choose_chat_format(const std::string& name, Tokenizer& tokenizer) {
  if (name.empty()) return;
  tokenizer.chat_format = name;
  const ChatFormat known(tokenizer);  // or throws
}

}  // namespace

Model load_model(const std::filesystem::path& dir, const PolicyOptions& options,
                 const std::string& chat_format) {
  if (is_checkpoint(dir)) {
    Model model = load_checkpoint(dir, options);
    choose_chat_format(chat_format, model.tokenizer);
    return model;
  }
  Tokenizer tokenizer = Tokenizer::load(dir);
  choose_chat_format(chat_format, tokenizer);
  check_tokenizer_fits(tokenizer, read_model_config(dir));
  std::string generation = generation_config(dir);
  return {import_policy(dir, with_tokens(options, tokenizer)), std::move(tokenizer), std::move(generation)};
}

PolicyOptions with_tokens(PolicyOptions options, const Tokenizer& tokenizer) {
  options.token_count = tokenizer.vocab_size();
  return options;
}

}  // namespace temper
