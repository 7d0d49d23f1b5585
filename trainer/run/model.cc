#include "trainer/run/model.h"

#include "base/error.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/text/chat_format.h"
#include "trainer/checkpoint/restore.h"
#include "trainer/run/terminal.h"

namespace temper::trainer {

using policy::Tokenizer;

namespace {

void choose_chat_format(const std::string& name, Tokenizer& tokenizer) {
  if (name.empty()) return;
  tokenizer.chat_format = name;
  const policy::ChatFormat known(tokenizer);  // or throws
}

}  // namespace

Model load_model(const std::filesystem::path& dir, const policy::PolicyOptions& options,
                 const std::string& chat_format) {
  if (is_checkpoint(dir)) {
    Model model = load_checkpoint(dir, options);
    choose_chat_format(chat_format, model.tokenizer);
    return model;
  }
  policy::check_model_folder(dir);
  Tokenizer tokenizer = Tokenizer::load(dir);
  choose_chat_format(chat_format, tokenizer);
  policy::check_tokenizer_fits(tokenizer, policy::read_model_config(dir));
  policy::Origin origin = policy::read_origin(dir);
  policy::NotFinite not_finite;
  policy::Policy policy = policy::import_policy(dir, with_tokens(options, tokenizer), &not_finite);
  return {std::move(policy), std::move(tokenizer), std::move(origin), std::move(not_finite)};
}

void check_learnable(const policy::NotFinite& found, bool allowed) {
  if (found.count == 0) return;
  if (!allowed)
    throw ConfigError(
        "{}; nothing can be learned from such weights; model.allow_not_finite=true tries all the same",
        policy::to_text(found));
  say("WARNING: {}", policy::to_text(found));
}

void warn_not_finite(const Model& model) {
  if (model.not_finite.count > 0) say_beside(fmt::format("WARNING: {}", policy::to_text(model.not_finite)));
}

policy::PolicyOptions with_tokens(policy::PolicyOptions options, const Tokenizer& tokenizer) {
  options.token_count = tokenizer.vocab_size();
  return options;
}

}  // namespace temper::trainer
