#include "trainer/config/prompt_style.h"

#include "base/error.h"
#include "policy/chat/choice.h"
#include "trainer/checkpoint/find_model.h"
#include "trainer/config/config.h"

namespace temper::trainer {
namespace {

// What is wrong with the model is said by those who read it.
bool speaks_short(const std::string& path) try {
  return path.empty() || policy::has_own_tokenizer(find_model(path, "model.path").dir);
} catch (const ConfigError&) {
  return false;
}

}  // namespace

void decide_prompt_style(RunConfig& config) {
  std::string& style = config.rollout.context.prompt.style;
  if (style == "auto") style = speaks_short(config.model.path) ? "short" : "sentences";
}

}  // namespace temper::trainer
