// tokenizer.model, and what it makes of its own bytes.

#include "base/input/utf8.h"
#include "policy/text/sentence_pieces.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::policy {

FUZZ_TARGET(sentence_pieces) {
  fuzz::taken([&] {
    const SentencePieces read = read_sentence_pieces(std::string(bytes), "tokenizer.model");
    std::vector<int32_t> ids;
    const std::string_view text = bytes.substr(0, valid_utf8_prefix(bytes.substr(0, 2000)));
    read.parts.encoder->encode(text, {.first = true, .joined = false}, ids);
    for (const int32_t id : ids) TEMPER_CHECK(id >= 0 && size_t(id) < read.parts.texts.size());
  });
}

}  // namespace temper::policy
