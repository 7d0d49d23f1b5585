#include "policy/text/pieces/text_encoder.h"

#include "base/error.h"
#include "base/input/printable.h"

namespace temper::policy {

void take_added_tokens(TokenizerParts& parts, const AddedTokens& tokens, const std::string& origin) {
  parts.added = tokens.by_id();
  for (const auto& [id, token] : parts.added) {
    if (id >= std::ssize(parts.texts)) parts.texts.resize(size_t(id) + 1);
    parts.texts[size_t(id)] = token.special ? "" : token.name;
  }
  for (const auto& [id, token] : parts.added)
    if (const AddedToken* known = tokens.find(token.name); !known || known->id != id)
      throw ConfigError("{}: added token '{}' has two ids, one of them {}", origin, printable(token.name),
                        id);
}

}  // namespace temper::policy
