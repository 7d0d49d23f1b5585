// The files beside a tokenizer: added tokens, chat template.

#include <filesystem>

#include "base/files.h"
#include "policy/chat/chat_format.h"
#include "policy/text/tokenizer.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::policy {

namespace {

const std::filesystem::path& folder() {
  static const std::filesystem::path path = [] {
    const std::filesystem::path made = fmt::format("/dev/shm/temper_fuzz_{}_tokenizer", ::getpid());
    Tokenizer::train({"void f(float* x) { x[0] = 1.0f; }"}, 380).save(made);
    return made;
  }();
  return path;
}

}  // namespace

FUZZ_TARGET(tokenizer_folder) {
  const size_t half = std::min(bytes.find('\n'), bytes.size());
  std::ofstream(folder() / "added_tokens.json", std::ios::binary) << bytes.substr(0, half);
  std::ofstream(folder() / "tokenizer_config.json", std::ios::binary)
      << bytes.substr(std::min(half + 1, bytes.size()));
  fuzz::taken([&] {
    const Tokenizer tokenizer = Tokenizer::load(folder());
    ChatFormat(tokenizer).first_turn("hello", "system");
  });
}

}  // namespace temper::policy
