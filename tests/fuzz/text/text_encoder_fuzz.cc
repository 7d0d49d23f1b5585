// Any text through the encoders: byte-level with each known pattern, and sentencepiece's.

#include "base/input/utf8.h"
#include "policy/text/bpe_json.h"
#include "policy/text/pieces/text_splitter.h"
#include "policy/text/sentence_pieces.h"
#include "policy/text/tokenizer_files.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"
#include "tests/policy/text/small_tokenizer_json.h"

namespace temper::policy {

namespace {

const TokenizerParts& byte_level() {
  static const TokenizerParts parts =
      BpeJson(small_tokenizer_json().dump(), "small").read(FolderTokens({}, "small", {}, {}));
  return parts;
}

const TokenizerParts& pieces() {
  static const TokenizerParts parts =
      read_sentence_pieces(
          train_model({"void f(float* x) { x[0] = 1.0f; }", "for (int i = 0; i < n; ++i)"}, 380), "small")
          .parts;
  return parts;
}

const std::vector<std::unique_ptr<TextSplitter>>& splitters() {
  static const auto all = [] {
    std::vector<std::unique_ptr<TextSplitter>> made;
    for (const std::string_view pattern : TextSplitter::known_patterns())
      made.push_back(std::make_unique<TextSplitter>(pattern, "pattern"));
    return made;
  }();
  return all;
}

std::string round_trip(const TokenizerParts& parts, std::string_view text) {
  std::vector<int32_t> ids;
  std::string buffer;
  while (!text.empty()) {
    const size_t valid = valid_utf8_prefix(text);
    Place place{.first = false, .joined = true};
    parts.encoder->encode(parts.encoder->normalizer().apply(text.substr(0, valid), place, buffer), place,
                          ids);
    if (valid < text.size()) parts.encoder->encode_byte(uint8_t(text[valid]), ids);
    text.remove_prefix(std::min(text.size(), valid + 1));
  }
  std::string decoded;
  for (const int32_t id : ids) decoded += parts.texts.at(size_t(id));
  return decoded;
}

}  // namespace

FUZZ_TARGET(text_encoder) {
  TEMPER_CHECK(round_trip(pieces(), bytes) == bytes);
  const std::string once = round_trip(byte_level(), bytes);  // in normal form
  TEMPER_CHECK(round_trip(byte_level(), once) == once);
  const std::string text = once.substr(0, valid_utf8_prefix(once));
  for (const auto& splitter : splitters()) {
    TextSplitter::Cut cut(*splitter, text);
    std::string together;
    for (std::string_view piece; !(piece = cut.next()).empty();) together += piece;
    TEMPER_CHECK(together == text);
  }
}

}  // namespace temper::policy
