// Layouts of chats. An object is read as one that a checkpoint keeps; anything else is a chat template
// (tests/fuzz/text/fuzzed_renderer.h), off which one is read. A layout that is taken reads back as itself, writes any
// conversation, and is true to the template wherever it was tried.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "policy/chat/chat_format.h"
#include "policy/chat/chat_template_write.h"
#include "policy/chat/choice.h"
#include "policy/chat/comparison.h"
#include "policy/chat/derivation.h"
#include "policy/chat/trials.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/text/fuzzed_renderer.h"
#include "tests/policy/text/small_tokenizer_json.h"

namespace temper::policy {

namespace {

constexpr const char* kNames[] = {"<|end|>", "<think>", "</think>", "<s>",          "</s>",
                                  "[INST]",  "[/INST]", "<eot>",    "<|im_start|>", "<|im_end|>"};

Tokenizer some_tokenizer() {
  auto json = small_tokenizer_json();
  json.erase("normalizer");
  json["added_tokens"].clear();
  int id = 260;
  for (const char* name : kNames)
    json["added_tokens"].push_back({{"id", id++}, {"content", name}, {"special", true}});
  return Tokenizer::read({{"tokenizer.json", json.dump()}}, "small");
}

std::vector<ChatQuestion> further_questions(std::string_view bytes) {
  const std::string first(bytes.substr(0, 40)), second(bytes.substr(bytes.size() / 2, 40));
  return {
      {{{"user", first}}, true},
      {{{"system", second}, {"user", first}, {"assistant", second}}, false},
      {{{"user", second}, {"assistant", first}, {"user", "x"}, {"assistant", second}}, false},
      {{{"user", "a"}, {"assistant", "<think>\n" + first + "\n</think>\n\n" + second}, {"user", "b"}}, true}};
}

std::string text_of(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::string text;
  for (const int32_t id : ids) text += tokenizer.token_text(id);
  return text;
}

void write_all(const ChatLayout& layout, const std::vector<ChatQuestion>& questions) {
  static Tokenizer tokenizer = some_tokenizer();
  TEMPER_CHECK(layout_from(to_json(layout).dump(), "again") == layout);
  TEMPER_CHECK(chat_template_text(layout) == chat_template_text(layout));
  const bool usable = fuzz::taken([&] { use_layout(tokenizer, layout); });
  for (const ChatQuestion& question : questions) {
    if (!refusal(layout, question.messages).empty()) continue;
    const std::string text = write_chat(layout, question.messages).text;
    if (!usable) continue;
    const ChatFormat format(tokenizer);
    const auto chat = format.conversation(question.messages);
    std::string theirs = text_of(tokenizer, chat.ids);
    if (question.messages.back().role == "assistant") theirs += text_of(tokenizer, format.closing());
    TEMPER_CHECK(text == theirs, "{} {}", text, theirs);
    for (const auto& span : chat.answers) TEMPER_CHECK(span.begin < span.end && span.end <= chat.ids.size());
  }
}

// Each conversation that the template was asked for and that the layout writes.
void check_truth(const ChatLayout& layout, const fuzz::FuzzedRenderer::Asked& asked) {
  for (const auto& [question, rendered] : asked) {
    if (!refusal(layout, question.messages).empty()) continue;
    TEMPER_CHECK(rendered.error.empty(), "{}", show_conversation(question.messages));
    const ChatComparison found = compare_chat(layout, question, rendered.text);
    TEMPER_CHECK(!found.differs(), "{} {}", show_conversation(question.messages),
                 show_difference(write_chat(layout, question.messages).text, rendered.text));
    TEMPER_CHECK(found.equal || std::ranges::count(layout.rewrites, found.rewrite) > 0);
  }
}

void follow(std::string_view bytes) {
  const fuzz::FuzzedRenderer renderer(bytes);
  const ChatTemplate chat_template{.text = std::string(bytes.substr(0, 64)), .tokens = {}};
  ChatLayout layout;
  const std::vector<std::string> names(std::begin(kNames), std::end(kNames));
  if (!fuzz::taken([&] { layout = derive_layout(chat_template, names, renderer); })) return;
  check_truth(layout, renderer.asked());
  const std::vector<ChatQuestion> questions = further_questions(bytes);
  write_all(layout, questions);
  if (fuzz::taken([&] { try_layout(layout, chat_template, questions, renderer); }))
    check_truth(layout, renderer.asked());
}

}  // namespace

FUZZ_TARGET(chat_layouts) {
  if (!bytes.starts_with("{")) return follow(bytes);
  ChatLayout layout;
  if (fuzz::taken([&] { layout = layout_from(bytes, "chat_layout.json"); }))
    write_all(layout, further_questions(bytes));
}

}  // namespace temper::policy
