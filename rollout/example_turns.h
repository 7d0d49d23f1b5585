#pragma once
// What a policy will be told after its answers, before any of them is judged.

#include <cstdint>
#include <string>
#include <vector>

#include "env/task/task.h"
#include "policy/chat/chat_text.h"
#include "rollout/context.h"

namespace temper::rollout {

// PASS, FAIL_COMPILE, …
std::vector<std::string> example_verdict_names();

// The conversation that asks for an answer after `answers` of them. The verdicts are of all kinds, one after another, from the
// kind `first` on, counted as the names are.
std::vector<policy::ChatMessage> example_conversation(const ContextOptions& context, const env::Task& task,
                                                      int64_t answers, size_t first = 0);

}  // namespace temper::rollout
