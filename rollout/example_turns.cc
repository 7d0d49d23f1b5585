#include "rollout/example_turns.h"

#include <array>

#include "env/verdict/message.h"
#include "rollout/prompt/prompt.h"

namespace temper::rollout {
namespace {

struct ExampleVerdict {
  env::VerdictKind kind;
  const char* reason;
};
constexpr std::array kExamples = {ExampleVerdict{env::VerdictKind::kPass, ""},
                                  ExampleVerdict{env::VerdictKind::kFailParse, "no_code_block"},
                                  ExampleVerdict{env::VerdictKind::kFailCompile, "compile_error"},
                                  ExampleVerdict{env::VerdictKind::kFailRuntime, "signal_11"},
                                  ExampleVerdict{env::VerdictKind::kFailTimeout, "timeout"},
                                  ExampleVerdict{env::VerdictKind::kFailIncorrect, "tolerance"}};

env::Verdict verdict_of(const ExampleVerdict& example) {
  env::Verdict verdict = env::verdict_of(example.kind, example.reason);
  if (!verdict.pass()) return verdict;
  verdict.speedup = 1.8;
  verdict.message = env::verdict_message(verdict);
  return verdict;
}

}  // namespace

std::vector<std::string> example_verdict_names() {
  std::vector<std::string> names;
  for (const ExampleVerdict& example : kExamples) names.emplace_back(env::to_string(example.kind));
  return names;
}

std::vector<policy::ChatMessage> example_conversation(const ContextOptions& context, const env::Task& task,
                                                      int64_t answers, size_t first) {
  std::vector<policy::ChatMessage> messages;
  if (const auto system = system_prompt(context.prompt, task)) messages.push_back({"system", *system});
  messages.push_back({"user", answers > 0 && !context.appends() ? later_task_prompt(context.prompt, task)
                                                                : task_prompt(context.prompt, task)});
  const std::string answer = example_answer(task);
  const VerdictPrompt later(context.prompt, task);
  std::vector<env::Verdict> verdicts;
  for (int64_t i = 0; i < answers; ++i)
    verdicts.push_back(verdict_of(kExamples[(first + size_t(i)) % kExamples.size()]));
  std::vector<const env::Verdict*> history;
  for (const env::Verdict& verdict : verdicts) {
    history.push_back(&verdict);
    messages.push_back({"assistant", answer});
    messages.push_back({"user", later.text(history)});
  }
  return messages;
}

}  // namespace temper::rollout
