#pragma once
// Conversations on which a derived layout is tried.

#include <string>
#include <vector>

#include "policy/chat/chat_layout.h"
#include "policy/chat/renderer.h"

namespace temper::policy {

// Tries conversations of all kinds. Those that the layout need not write, such as answers with reasoning, and cannot,
// go into layout.limits; what of earlier turns the template rewrites goes into layout.rewrites. Errors: ConfigError with
// the first other conversation that differs, and both texts.
void try_all_kinds(ChatLayout& layout, const ChatTemplate& chat_template, const ChatRenderer& renderer);

// Tries further conversations, as they come. Those that the layout refuses count for nothing. Adds to layout.rewrites what
// it finds. Errors: as above.
void try_layout(ChatLayout& layout, const ChatTemplate& chat_template,
                const std::vector<ChatQuestion>& questions, const ChatRenderer& renderer);

// Compares the finished layout with what was rendered while it was made, each of the questions. What a template does may be seen
// in a conversation that was asked for another reason, or under a layout that changed afterwards. Errors: as above.
void compare_again(ChatLayout& layout, const ChatTemplate& chat_template,
                   const std::vector<ChatQuestion>& questions, const std::vector<RenderedChat>& rendered,
                   const ChatRenderer& renderer);

// The plain ones among them.
std::vector<ChatQuestion> plain_trials(bool with_system);

// Errors: always, ConfigError naming the conversation and the way out.
[[noreturn]] void refuse_template(const ChatTemplate& chat_template, const std::vector<ChatMessage>& messages,
                                  const std::string& why);

}  // namespace temper::policy
