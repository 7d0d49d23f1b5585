#include "trainer/run/model.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "policy/hugging_face/folder.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/ranks/communicator.h"
#include "trainer/checkpoint/restore.h"
#include "trainer/run/terminal.h"

namespace temper::trainer {

using policy::Tokenizer;

void say_remarks(const Tokenizer& tokenizer) {
  for (const std::string& line : tokenizer.remarks()) say_beside(line);
}

// The first rank decides, so that a template is run once, on one day.
void decide_chat(Tokenizer& tokenizer, const policy::ChatSource& source, policy::Communicator* ranks) {
  const bool first = !ranks || ranks->rank() == 0;
  if (first) say_remarks(tokenizer);
  std::string layout, problem;
  if (first) try {
      for (const std::string& line : policy::choose_chat(tokenizer, source)) say_beside(line);
      layout = policy::to_json(*tokenizer.chat).dump();
    } catch (const ConfigError& e) {
      problem = e.what();
    }
  if (ranks && ranks->size() > 1) {
    problem = ranks->broadcast(problem, 0, "chat layout");
    layout = ranks->broadcast(layout, 0, "chat layout");
  }
  if (!problem.empty()) throw ConfigError("{}", problem);
  if (!first) policy::use_layout(tokenizer, policy::layout_from(layout, "the chat layout of rank 0"));
}

Model load_model(const std::filesystem::path& dir, const policy::PolicyOptions& options,
                 const policy::ChatSource* chat) {
  if (is_checkpoint(dir)) {
    Model model = load_checkpoint(dir, options);
    if (chat) decide_chat(model.tokenizer, *chat, options.ranks);
    return model;
  }
  policy::check_model_folder(dir);
  Tokenizer tokenizer = Tokenizer::load(dir);
  if (chat) decide_chat(tokenizer, *chat, options.ranks);
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
