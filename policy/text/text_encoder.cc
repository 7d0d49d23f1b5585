#include "policy/text/text_encoder.h"

#include <algorithm>

#include "base/error.h"
#include "base/input/printable.h"

namespace temper::policy {
void add_tokens(TokenizerParts& parts, const std::vector<AddedToken>& tokens, const std::string& origin) {
  std::vector<AddedToken> sorted = tokens;
  std::ranges::sort(sorted, {}, &AddedToken::id);
  const auto twin = std::ranges::adjacent_find(sorted, {}, &AddedToken::id);
  if (twin != sorted.end())
    throw ConfigError("{}: added tokens '{}' and '{}' have the same id {}", origin, printable(twin->name),
                      printable(std::next(twin)->name), twin->id);
  for (const AddedToken& token : sorted) {
    const int64_t size = std::ssize(parts.texts);
    if (token.id < 0 || token.id > size)
      throw ConfigError("{}: added token '{}' has id {}, but there is no token for id {}", origin,
                        printable(token.name), token.id, token.id < 0 ? token.id : size);
    if (token.id == size) parts.texts.emplace_back();
    parts.texts[size_t(token.id)] = token.special ? "" : token.name;
    if (!parts.added.emplace(token.name, token).second)
      throw ConfigError("{}: added token '{}' is listed twice", origin, printable(token.name));
  }
}

}  // namespace temper::policy
