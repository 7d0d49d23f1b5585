// tokenizer.model, and what it makes of its own bytes.

#include "policy/text/sentence_pieces.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::policy {

FUZZ_TARGET(sentence_pieces) {
  fuzz::taken([&] {
    const SentencePieces read = read_sentence_pieces(std::string(bytes), "tokenizer.model");
    std::vector<int32_t> ids;
    read.parts.encoder->encode(bytes.substr(0, 2000), true, ids);
    for (const int32_t id : ids) TEMPER_CHECK(id >= 0 && size_t(id) < read.parts.texts.size());
  });
}

}  // namespace temper::policy
