// Conversations to learn from. What is taken is written, and reads back as the same.

#include "rollout/chat_examples.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::rollout {

FUZZ_TARGET(chat_examples) {
  static fuzz::ScratchFile file("data.jsonl"), again("again.jsonl");
  std::string lines, more;
  if (!fuzz::taken([&] {
        for (const ChatExample& one : read_chat_examples(file.holding(bytes))) lines += to_line(one) + "\n";
      }))
    return;
  for (const ChatExample& one : read_chat_examples(again.holding(lines))) more += to_line(one) + "\n";
  TEMPER_CHECK(lines == more);
}

}  // namespace temper::rollout
