// The files beside a tokenizer: added tokens, names of tokens, the class, chat template; and texts that name tokens. One
// line for each: added_tokens.json, tokenizer_config.json, special_tokens_map.json, config.json, a text.

#include "policy/chat/chat_format.h"
#include "policy/text/tokenizer.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"
#include "tests/policy/text/small_tokenizer_json.h"

namespace temper::policy {

namespace {

using Files = std::map<std::string, std::string>;

// Of a folder of our own, with a sentencepiece model, and of one with pieces of bytes.
const std::vector<Files>& folders() {
  static const std::vector<Files> all = {Tokenizer::train({"void f(float* x) { x[0] = 1.0f; }"}, 380).files(),
                                         {{"tokenizer.json", small_tokenizer_json().dump()}}};
  return all;
}

std::string_view line_of(std::string_view& bytes) {
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  bytes.remove_prefix(std::min(line.size() + 1, bytes.size()));
  return line;
}

void encode_all(const Tokenizer& tokenizer, std::string_view text) {
  const TextRange contents[] = {{text.size() / 4, text.size() / 2}, {text.size() / 2, text.size() * 3 / 4}};
  for (const auto& ids : {tokenizer.encode(text), tokenizer.encode_start(text),
                          tokenizer.encode_written(text), tokenizer.encode_written(text, contents)})
    for (const int32_t id : ids) TEMPER_CHECK(id >= 0 && id < tokenizer.vocab_size());
  for (const int32_t id : tokenizer.encode(text)) TEMPER_CHECK(!tokenizer.is_special(id), "id {}", id);
  TEMPER_CHECK(tokenizer.count_control_names(text) >= 0);
}

}  // namespace

FUZZ_TARGET(tokenizer_folder) {
  std::string_view rest = bytes;
  std::vector<std::pair<const char*, std::string_view>> files;
  for (const char* name :
       {"added_tokens.json", "tokenizer_config.json", "special_tokens_map.json", "config.json"})
    files.emplace_back(name, line_of(rest));
  for (Files folder : folders()) {
    for (const auto& [name, content] : files) {
      folder.erase(name);
      if (!content.empty()) folder[name] = content;
    }
    fuzz::taken([&] {
      const Tokenizer tokenizer = Tokenizer::read(folder, "folder");
      encode_all(tokenizer, rest.substr(0, 2000));
      ChatFormat(tokenizer).first_turn("hello", "system");
    });
  }
}

}  // namespace temper::policy
