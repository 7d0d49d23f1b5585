// Conversations to learn from, in any form. What is taken is written, and reads back as the same.

#include "trainer/cold_start/conversations.h"

#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::trainer {
namespace {

std::string lines_of(const ConversationSource& source) {
  std::string lines;
  read_conversations(source, [&](rollout::ChatExample&& example) {
    lines += rollout::to_line(example) + "\n";
    return true;
  });
  return lines;
}

}  // namespace

FUZZ_TARGET(conversations) {
  static fuzz::ScratchFile file("data"), again("again.jsonl");
  const std::string path = file.holding(bytes);
  std::string lines;
  if (!fuzz::taken([&] { lines = lines_of({.path = path}); })) {
    fuzz::taken(
        [&] { lines_of({.path = path, .fields = {.prompt = "a.b", .completion = "c.0", .weight = "d"}}); });
    fuzz::taken([&] { lines_of({.path = path, .fields = {.messages = "a.b"}}); });
    return;
  }
  TEMPER_CHECK(lines_of({.path = again.holding(lines)}) == lines);
}

}  // namespace temper::trainer
