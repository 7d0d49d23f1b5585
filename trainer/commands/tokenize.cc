#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "policy/tokenizer.h"
#include "trainer/commands/commands.h"

namespace temper {
namespace {

std::vector<int32_t> parse_ids(const std::string& text, int64_t vocab_size) {
  std::vector<int32_t> ids;
  try {
    ids = nlohmann::json::parse(text).get<std::vector<int32_t>>();
  } catch (const nlohmann::json::exception&) {
    throw ConfigError("tokenize --decode: the input must be a JSON list of token ids, like [1, 2]");
  }
  for (const int32_t id : ids)
    if (id < 0 || id >= vocab_size)
      throw ConfigError("tokenize --decode: {} is not a token id: 0 to {}", id, vocab_size - 1);
  return ids;
}

int run_tokenize(const std::string& model, const std::string& text, bool decode) {
  const Tokenizer tokenizer = Tokenizer::load(model);
  const std::string input = text == "-" ? read_input("-") : text;
  if (decode)
    fmt::print("{}", tokenizer.decode(parse_ids(input, tokenizer.vocab_size())));
  else
    fmt::print("{}\n", nlohmann::json(tokenizer.encode(input)).dump());
  return kExitOk;
}

}  // namespace

void add_tokenize(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("tokenize", "text → token ids as JSON, or back");
  const auto model = std::make_shared<std::string>(), text = std::make_shared<std::string>("-");
  const auto decode = std::make_shared<bool>(false);
  command->add_option("text", *text, "the text, or - for standard input");
  command->add_option("--model", *model, "Hugging Face directory")->required();
  command->add_flag("--decode", *decode, "a JSON list of ids → text");
  command->callback([=, &exit_code] { exit_code = run_tokenize(*model, *text, *decode); });
}

}  // namespace temper
