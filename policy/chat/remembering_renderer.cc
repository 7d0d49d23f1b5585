#include "policy/chat/remembering_renderer.h"

#include <fmt/format.h>

#include <algorithm>

namespace temper::policy {
namespace {

std::string key_of(const ChatQuestion& question) {
  std::string key = question.generates ? "1" : "0";
  for (const ChatMessage& message : question.messages)
    key += fmt::format("{} {} {}", message.role, message.content.size(), message.content);
  return key;
}

}  // namespace

std::vector<RenderedChat> RememberingRenderer::render(const ChatTemplate& chat_template,
                                                      const std::vector<ChatQuestion>& questions) const {
  std::vector<RenderedChat> all = renderer_.render(chat_template, questions);
  for (size_t i = 0; i < std::min(all.size(), questions.size()); ++i) {
    if (!seen_.insert(key_of(questions[i])).second) continue;
    questions_.push_back(questions[i]);
    rendered_.push_back(all[i]);
  }
  return all;
}

}  // namespace temper::policy
