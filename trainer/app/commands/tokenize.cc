#include <memory>
#include <optional>

#include "base/error.h"
#include "base/input/json.h"
#include "policy/chat/chat_format.h"
#include "policy/chat/choice.h"
#include "policy/text/tokenizer.h"
#include "trainer/app/chat/template_renderer.h"
#include "trainer/app/checks.h"
#include "trainer/app/commands/commands.h"
#include "trainer/run/model.h"
#include "trainer/run/terminal.h"

namespace temper::trainer {
namespace {

using Json = nlohmann::json;

struct TokenizeWords {
  std::string model, text = "-", chat, chat_arguments = "{}";
  bool decode = false, nul = false, special = false;
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

std::vector<policy::ChatMessage> messages_from(std::string_view text) {
  const Json list = parse_json(text, fmt::format("{}; it", kConversation), kWholeInput);
  if (!list.is_array()) throw ConfigError(kConversation);
  std::vector<policy::ChatMessage> messages;
  for (const Json& message : list) {
    const Json role = message.is_object() ? message.value("role", Json()) : Json();
    if (!role.is_string() || !message.value("content", Json()).is_string()) throw ConfigError(kConversation);
    messages.push_back({role.get<std::string>(), message["content"].get<std::string>()});
  }
  return messages;
}

// Whole conversations, up to the token that ends the last answer or to where one is to begin.
class Conversations {
 public:
  Conversations(policy::Tokenizer& tokenizer, const TokenizeWords& words)
      : tokenizer_(tokenizer),
        source_{.format = words.chat, .arguments = words.chat_arguments, .renderer = &chat_renderer()} {
    decide_chat(tokenizer, source_);
  }
  ~Conversations() {
    if (names_ > 0)
      say_beside(
          fmt::format("chat: {} names of control tokens in contents stay text, which transformers would take "
                      "for the tokens",
                      names_));
  }

  // Tries the template on each, too: nobody knows what it was not asked.
  std::vector<int32_t> ids(std::string_view text) {
    const std::vector<policy::ChatMessage> messages = messages_from(text);
    const policy::ChatFormat format(tokenizer_);
    policy::ChatFormat::Conversation written = format.conversation(messages);
    const bool answered = messages.back().role == "assistant";
    for (const std::string& line : policy::try_chat(tokenizer_, source_, {{messages, !answered}}))
      say_beside(line);
    names_ += written.control_names;
    return written.ids;
  }

 private:
  policy::Tokenizer& tokenizer_;
  policy::ChatSource source_;
  int64_t names_ = 0;
};

int run_tokenize(const TokenizeWords& words) {
  policy::Tokenizer tokenizer = policy::Tokenizer::load(model_folder(words.model, "--model"));
  std::optional<Conversations> conversations;
  if (!words.chat.empty())
    conversations.emplace(tokenizer, words);
  else
    say_remarks(tokenizer);
  const auto ids_of = [&](std::string_view text) {
    if (conversations) return conversations->ids(text);
    return words.special ? tokenizer.encode_written(text) : tokenizer.encode(text);
  };
  const auto print = [&](std::string_view text) { fmt::print("{}\n", nlohmann::json(ids_of(text)).dump()); };
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
  if (const int64_t lost = tokenizer.lost_bytes(); lost > 0)
    fmt::print(
        stderr,
        "tokenize: the tokenizer has no token for {} of the text's bytes; decoding does not give them\n",
        lost);
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
  command->add_flag(
      "--special", words->special,
      "the text as transformers encodes it: names of special tokens are the tokens, and what the tokenizer "
      "puts before a text is there");
  command->add_option("--chat", words->chat,
                      fmt::format("the text is a JSON list of messages; how they are written: {}",
                                  fmt::join(policy::ChatFormat::names(), ", ")));
  command->add_option(
      "--chat-arguments", words->chat_arguments,
      "further names for the model's chat template, a JSON object: {\"enable_thinking\": false}");
  command->callback([=, &exit_code] { exit_code = run_tokenize(*words); });
}

}  // namespace temper::trainer
