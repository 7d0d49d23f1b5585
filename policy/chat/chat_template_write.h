#pragma once
// A chat template for folders that had none: what a layout says as a Jinja program, for transformers and for whoever
// serves a model.

#include <string>

#include "policy/chat/chat_layout.h"
#include "policy/chat/known_layouts.h"

namespace temper::policy {

// What it renders of a conversation is write_chat's text (policy/chat/chat_text.h), with the opening of an answer behind
// a last message of the user where add_generation_prompt is set, and with no more than the end of that message
// otherwise. It refuses (raise_exception) roles that do not alternate, and a system message where the layout has no
// place for one. Answers are written as the last one of a conversation wherever the layout's earlier ones are no
// different.
std::string chat_template_text(const ChatLayout& layout);

// The known layout whose text this is; null if it is none's. Temper's own models have a template of their own, and their
// text here is ChatML's.
const ChatLayout* layout_of_own_template(const std::string& text);

}  // namespace temper::policy
