#pragma once
// Who runs a chat template. Its program comes from strangers, so that whoever does it knows a sandbox, which this folder
// does not.

#include <stdexcept>
#include <string>
#include <vector>

#include "policy/chat/chat_template.h"
#include "policy/chat/chat_text.h"

namespace temper::policy {

// A conversation to render; `generates`: with the opening of an answer behind it, as transformers'
// add_generation_prompt has it.
struct ChatQuestion {
  std::vector<ChatMessage> messages;
  bool generates = false;
};

struct RenderedChat {
  std::string text;
  std::string error;  // the template's own refusal of this conversation, in its words; empty: there is a text
};

// Templates cannot be run here, in words why.
struct NoRenderer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ChatRenderer {
 public:
  virtual ~ChatRenderer() = default;
  // As transformers' apply_chat_template with tokenize=False, in the order asked, on the template's date. Errors: ConfigError where the template
  // is no template or takes too much time or memory; NoRenderer.
  virtual std::vector<RenderedChat> render(const ChatTemplate& chat_template,
                                           const std::vector<ChatQuestion>& questions) const = 0;

  // What is rendered from here on is rendered by another process and at another time of the same day. A template that writes
  // either writes another text then.
  virtual void start_anew() const {}

  // The same of texts that a layout can be read off. Errors: ConfigError too where a text is not UTF-8.
  std::vector<RenderedChat> ask(const ChatTemplate& chat_template,
                                const std::vector<ChatQuestion>& questions) const;
};

}  // namespace temper::policy
