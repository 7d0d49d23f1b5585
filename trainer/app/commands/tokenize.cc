#include <memory>
#include <optional>

#include "base/error.h"
#include "base/input/json.h"
#include "policy/text/chat_format.h"
#include "policy/text/tokenizer.h"
#include "trainer/app/checks.h"
#include "trainer/app/commands/commands.h"

namespace temper::trainer {
namespace {

using Json = nlohmann::json;

struct TokenizeWords {
  std::string model, text = "-", chat;
  bool decode = false, nul = false;
};

constexpr const char
    *kIds = "tokenize --decode: the input must be a JSON list of token ids, like [1, 2]",
    *kConversation =
        "tokenize --chat: the input must be a JSON list of messages with role and content: a "
        "system message at most, then user and assistant in turn";

std::vector<int32_t> parse_ids(const std::string& text, int64_t vocab_size) {
  const Json list = parse_json(text, fmt::format("{}; it", kIds), kWholeInput);
  if (!list.is_array()) throw ConfigError(kIds);
  std::vector<int32_t> ids;
  for (const Json& value : list) {
    const int64_t id = whole_number(value).value_or(-1);
    if (id < 0 || id >= vocab_size)
      throw ConfigError("tokenize --decode: {} is not a token id: 0 to {}", shown(value), vocab_size - 1);
    ids.push_back(int32_t(id));
  }
  return ids;
}

std::vector<int32_t> conversation_ids(const policy::ChatFormat& format, std::string_view text) {
  const Json messages = parse_json(text, fmt::format("{}; it", kConversation), kWholeInput);
  if (!messages.is_array()) throw ConfigError(kConversation);
  std::vector<int32_t> ids;
  std::string system;
  for (size_t i = 0, turn = 0; i < messages.size(); ++i) {
    const Json& message = messages[i];
    const Json role = message.is_object() ? message.value("role", Json()) : Json();
    if (!role.is_string() || !message.value("content", Json()).is_string()) throw ConfigError(kConversation);
    const auto content = message["content"].get<std::string>();
    if (i == 0 && role == "system") {
      system = content;
      continue;
    }
    if (role != (turn % 2 == 0 ? "user" : "assistant")) throw ConfigError(kConversation);
    std::vector<int32_t> more;
    if (turn > 0 && role == "user") more = format.after_answer();
    ids.insert(ids.end(), more.begin(), more.end());
    more = role == "assistant" ? format.answer(content)
           : turn == 0         ? format.first_turn(content, system)
                               : format.user_turn(content);
    ids.insert(ids.end(), more.begin(), more.end());
    ++turn;
  }
  return ids;
}

int run_tokenize(const TokenizeWords& words) {
  const policy::Tokenizer tokenizer = policy::Tokenizer::load(model_folder(words.model, "--model"));
  std::optional<policy::ChatFormat> format;
  if (!words.chat.empty()) format.emplace(tokenizer, words.chat);
  const auto print = [&](std::string_view text) {
    fmt::print("{}\n",
               nlohmann::json(format ? conversation_ids(*format, text) : tokenizer.encode(text)).dump());
  };
  const std::string input = words.text == "-" ? read_input("-") : words.text;
  if (words.decode) {
    fmt::print("{}", tokenizer.decode(parse_ids(input, tokenizer.vocab_size())));
  } else if (words.nul) {
    for (size_t at = 0; at < input.size();) {
      const size_t end = std::min(input.find('\0', at), input.size());
      print(std::string_view(input).substr(at, end - at));
      at = end + 1;
    }
  } else {
    print(input);
  }
  return kExitOk;
}

}  // namespace

void add_tokenize(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("tokenize", "text → token ids as JSON, or back");
  const auto words = std::make_shared<TokenizeWords>();
  command->add_option("text", words->text, "the text, or - for standard input");
  command->add_option("--model", words->model, "Hugging Face directory, a run, or one of its checkpoints")
      ->transform(path_word())
      ->required();
  command->add_flag("--decode", words->decode, "a JSON list of ids → text");
  command->add_flag("--nul", words->nul,
                    "the input holds many texts, each ended by a zero byte; one list a line");
  command->add_option("--chat", words->chat,
                      fmt::format("the text is a JSON list of messages; how they are written: {}",
                                  fmt::join(policy::ChatFormat::names(), ", ")));
  command->callback([=, &exit_code] { exit_code = run_tokenize(*words); });
}

}  // namespace temper::trainer
