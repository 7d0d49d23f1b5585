// tokenizer.json, and what it makes of its own bytes.

#include "policy/text/byte_level_json.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::policy {

FUZZ_TARGET(byte_level) {
  fuzz::taken([&] {
    const std::string content(bytes);
    const TokenizerParts parts = read_byte_level_json(content, "tokenizer.json");
    std::vector<int32_t> ids;
    parts.encoder->encode(bytes.substr(0, 2000), true, ids);
    for (const int32_t id : ids) TEMPER_CHECK(id >= 0 && size_t(id) < parts.texts.size());
  });
}

}  // namespace temper::policy
