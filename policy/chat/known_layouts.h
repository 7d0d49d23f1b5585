#pragma once
// The chat layouts that are known by name, as data.

#include <string>
#include <string_view>
#include <vector>

#include "policy/chat/chat_layout.h"
#include "policy/chat/chat_template.h"
#include "policy/text/tokenizer.h"

namespace temper::policy {

// Errors: ConfigError if the name is not known.
const ChatLayout& layout_named(std::string_view name);
std::vector<std::string> layout_names();  // auto, and all

// The layout of the template that Temper's own models have; null where it is another template.
const ChatLayout* own_layout(const ChatTemplate& chat_template);
// By the special tokens alone, where a folder has no template; null where they are not known.
const ChatLayout* layout_by_tokens(const Tokenizer& tokenizer);

}  // namespace temper::policy
