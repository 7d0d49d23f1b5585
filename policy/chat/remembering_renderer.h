#pragma once
// A renderer that keeps what it was asked.

#include <set>
#include <string>
#include <vector>

#include "policy/chat/renderer.h"

namespace temper::policy {

class RememberingRenderer : public ChatRenderer {
 public:
  explicit RememberingRenderer(const ChatRenderer& renderer) : renderer_(renderer) {}

  std::vector<RenderedChat> render(const ChatTemplate& chat_template,
                                   const std::vector<ChatQuestion>& questions) const override;
  void start_anew() const override { renderer_.start_anew(); }

  // Each conversation once, in the order in which it was first asked, and its text.
  const std::vector<ChatQuestion>& questions() const { return questions_; }
  const std::vector<RenderedChat>& rendered() const { return rendered_; }

 private:
  const ChatRenderer& renderer_;
  mutable std::set<std::string> seen_;
  mutable std::vector<ChatQuestion> questions_;
  mutable std::vector<RenderedChat> rendered_;
};

}  // namespace temper::policy
