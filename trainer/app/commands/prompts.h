#pragma once
// What a policy is asked, printed without a rollout: temper tasks --prompt.

#include <string>
#include <vector>

#include "trainer/config/config.h"

namespace temper::trainer {

struct PromptWords {
  bool json = false;
  std::string
      verdict;  // PASS, FAIL_COMPILE, …: the message after such an answer too; empty: the first messages alone
};

// Prints the messages of each task. With model.path, which may name a run, also the exact text as the model's chat
// template has it, and its tokens. Needs neither a GPU nor weights. Errors: ConfigError.
void print_prompts(const RunConfig& config, const std::vector<env::Task>& tasks, const PromptWords& words);

}  // namespace temper::trainer
