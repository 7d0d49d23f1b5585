#include "policy/text/text_encoder.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace temper {
namespace {

// Bytes at the front that are ASCII, eight at a time.
size_t ascii_prefix(std::string_view text) {
  size_t n = 0;
  for (uint64_t word; n + sizeof word <= text.size(); n += sizeof word) {
    std::memcpy(&word, text.data() + n, sizeof word);
    if (word & 0x8080808080808080ull) break;
  }
  while (n < text.size() && uint8_t(text[n]) < 0x80) ++n;
  return n;
}

}  // namespace

size_t valid_utf8_prefix(std::string_view text) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  size_t n = 0;
  while (n < text.size()) {
    if (const size_t plain = ascii_prefix(text.substr(n)); plain > 0) {
      n += plain;
      continue;
    }
    utf8proc_int32_t point = 0;
    const auto used = utf8proc_iterate(bytes + n, utf8proc_ssize_t(text.size() - n), &point);
    if (used <= 0) break;
    n += size_t(used);
  }
  return n;
}

void add_tokens(TokenizerParts& parts, const std::vector<AddedToken>& tokens, const std::string& origin) {
  std::vector<AddedToken> sorted = tokens;
  std::ranges::sort(sorted, {}, &AddedToken::id);
  const auto twin = std::ranges::adjacent_find(sorted, {}, &AddedToken::id);
  if (twin != sorted.end())
    throw ConfigError("{}: added tokens '{:.80}' and '{:.80}' have the same id {}", origin, twin->name,
                      std::next(twin)->name, twin->id);
  for (const AddedToken& token : sorted) {
    const int64_t size = std::ssize(parts.texts);
    if (token.id < 0 || token.id > size)
      throw ConfigError("{}: added token '{:.80}' has id {}, but there is no token for id {}", origin,
                        token.name, token.id, token.id < 0 ? token.id : size);
    if (token.id == size) parts.texts.emplace_back();
    parts.texts[size_t(token.id)] = token.special ? "" : token.name;
    if (!parts.added.emplace(token.name, token).second)
      throw ConfigError("{}: added token '{:.80}' is listed twice", origin, token.name);
  }
}

}  // namespace temper
