#pragma once
// A layout read off a chat template.
//
// The template is a program; what it does is found out by asking. Conversations of words that occur nowhere else show what
// stands around each content; the same words with white space at their ends show what is taken off; others show what
// becomes of reasoning and of a system message. Then the layout is tried on conversations of all kinds that it was not
// made from (policy/chat/trials.h), and one that differs without a reason that has a name refuses the template.

#include <string>
#include <vector>

#include "policy/chat/chat_layout.h"
#include "policy/chat/renderer.h"

namespace temper::policy {

// `token_names`: the tokenizer's added tokens, one of which must end an answer. Errors: ConfigError with the first
// conversation that differs and both texts, or with what the template says; those of the renderer.
ChatLayout derive_layout(const ChatTemplate& chat_template, const std::vector<std::string>& token_names,
                         const ChatRenderer& renderer);

}  // namespace temper::policy
