// tokenizer.json, and what it makes of its own bytes.

#include "base/input/utf8.h"
#include "policy/text/bpe_json.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::policy {

FUZZ_TARGET(byte_level) {
  fuzz::taken([&] {
    const BpeJson json(std::string(bytes), "tokenizer.json");
    const TokenizerParts parts = json.read(FolderTokens({}, "folder", {}, json.added_tokens()));
    const std::string_view text = bytes.substr(0, valid_utf8_prefix(bytes.substr(0, 2000)));
    std::vector<int32_t> ids;
    std::string buffer;
    Place place{.first = true, .joined = false};
    parts.encoder->encode(parts.encoder->normalizer().apply(text, place, buffer), place, ids);
    for (int byte = 0; byte < 256; ++byte) parts.encoder->encode_byte(uint8_t(byte), ids);
    for (const int32_t id : ids) TEMPER_CHECK(id >= 0 && size_t(id) < parts.texts.size());
  });
}

}  // namespace temper::policy
