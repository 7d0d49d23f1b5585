#include "policy/chat/choice.h"

#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/input/file.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "policy/chat/chat_format.h"
#include "policy/chat/chat_template_write.h"
#include "policy/chat/derivation.h"
#include "policy/chat/known_layouts.h"
#include "policy/chat/published_layouts.h"
#include "policy/chat/trials.h"
#include "policy/text/tokenizer_files.h"

namespace temper::policy {
namespace {

constexpr const char* kKeptLayout = "chat_layout.json";

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::localtime(std::time(nullptr))); }

std::string known_names() {
  std::vector<std::string> names = layout_names();
  std::erase(names, "auto");
  return fmt::format("{}", fmt::join(names, "|"));
}

// A run asks for it several times: before it begins, and where it loads its model.
ChatLayout derived(const ChatTemplate& chat_template, const std::vector<std::string>& names,
                   const ChatRenderer& renderer) {
  static std::mutex mutex;
  static std::map<std::string, ChatLayout> known;
  std::string key = fmt::format("{}\n{}", chat_template.digest(), fmt::join(names, "\n"));
  for (const auto& [name, token] : chat_template.tokens) key += fmt::format("\n{}={}", name, token);
  const std::scoped_lock lock(mutex);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  return known[key] = derive_layout(chat_template, names, renderer);
}

ChatLayout followed(const Tokenizer& tokenizer, const ChatTemplate& chat_template, const ChatSource& source) {
  if (!chat_template.unusable.empty())
    throw ConfigError(
        "model: its chat template cannot be followed: {}; model.chat_format={} writes conversations in a "
        "known format "
        "instead",
        chat_template.unusable, known_names());
  std::string missing = "this program runs none here";
  if (source.renderer) try {
      return derived(chat_template, tokenizer.added_names(), *source.renderer);
    } catch (const NoRenderer& e) {
      missing = e.what();
    }
  const PublishedLayout known = published_layout(chat_template);
  if (known.layout) return *known.layout;
  throw ConfigError(
      "model: its chat template {}, and it cannot be run: {}; model.chat_format={} writes conversations in a "
      "known "
      "format instead",
      known.why, missing, known_names());
}

// Each added token that stands in the layout's own text, and the marks of reasoning.
std::vector<int32_t> control_ids(const Tokenizer& tokenizer, const ChatLayout& layout) {
  std::string text = layout.before_system + layout.answer_end + layout.closing + layout.behind_reasoning;
  for (const UserTurn* turn : {&layout.first, &layout.first_with_system, &layout.further})
    for (const std::string* part :
         {&turn->before, &turn->after, &turn->told, &turn->told_earlier, &turn->reasoned})
      text += "\n" + *part;
  std::vector<int32_t> ids;
  for (const std::string& name : tokenizer.added_names())
    if (name == kThink || name == kEndThink || text.find(name) != std::string::npos)
      ids.push_back(tokenizer.special(name));
  return ids;
}

// Whether ids of answers that begin with no space stay those of the rendered text.
bool joins_openings(const Tokenizer& tokenizer, const ChatFormat& format) {
  for (const ChatQuestion& question : plain_trials(false)) {
    const bool spaced = std::ranges::any_of(question.messages, [](const ChatMessage& message) {
      return std::isspace(uint8_t(message.content.front())) || uint8_t(message.content.front()) >= 0x80;
    });
    if (spaced || !refusal(format.layout(), question.messages).empty()) continue;
    std::vector<int32_t> ids = format.conversation(question.messages).ids;
    if (!question.generates) {
      const auto closing = format.closing();
      ids.insert(ids.end(), closing.begin(), closing.end());
    }
    const MarkedText text = write_chat(format.layout(), question.messages);
    if (ids != tokenizer.encode_written(text.text, text.contents)) return false;
  }
  return true;
}

// What apply_chat_template and its renderer take themselves: no template gets them from these arguments.
void check_arguments(const std::string& arguments) {
  static constexpr const char* kTaken[] = {"add_generation_prompt",
                                           "chat_template",
                                           "continue_final_message",
                                           "conversation",
                                           "conversations",
                                           "documents",
                                           "max_length",
                                           "messages",
                                           "padding",
                                           "return_assistant_tokens_mask",
                                           "return_dict",
                                           "return_tensors",
                                           "self",
                                           "tokenize",
                                           "tokenizer_kwargs",
                                           "tools",
                                           "truncation"};
  const nlohmann::json names = parse_json_object(arguments, "model.chat_arguments");
  for (const char* name : kTaken)
    if (names.contains(name))
      throw ConfigError(
          "model.chat_arguments: {} is {}: apply_chat_template has an argument of this name, which is not "
          "one "
          "that a template is given here; leave it out, or give the template names of its own, such as "
          "enable_thinking",
          name, shown(names[name]));
}

std::vector<std::string> lines_about(const ChatLayout& layout) {
  if (layout.rewrites.empty()) return {};
  return {fmt::format("chat: append-only: the chat template {}; here what has been said stays as it was",
                      fmt::join(layout.rewrites, "; it "))};
}

std::vector<std::string> lines_about_end(const ChatLayout& layout) {
  if (layout.end_use == EndUse::kWritten) return {};
  return {fmt::format("chat: answers end with {}, the tokenizer's eos_token, where a model stops",
                      printable(layout.stop, 100))};
}

std::vector<std::string> lines_about_closing(const ChatLayout& layout) {
  if (layout.closing.find_first_not_of(kWhiteSpace) == std::string::npos) return {};
  return {fmt::format(
      "chat: behind a conversation's last answer the chat template writes more, {}; here the token {} is the "
      "end, where a model stops",
      nlohmann::json(printable(layout.closing, 100)).dump(), printable(layout.stop, 100))};
}

}  // namespace

std::optional<ChatTemplate> template_of(const Tokenizer& tokenizer, const ChatSource& source) {
  auto chat_template = find_chat_template(tokenizer.files());
  if (!chat_template) return chat_template;
  chat_template->arguments = source.arguments;
  chat_template->date = !source.date.empty()                              ? source.date
                        : tokenizer.chat && !tokenizer.chat->date.empty() ? tokenizer.chat->date
                                                                          : today();
  return chat_template;
}

void use_layout(Tokenizer& tokenizer, ChatLayout layout) {
  tokenizer.chat = std::make_shared<const ChatLayout>(std::move(layout));
  const ChatFormat format(tokenizer);  // or throws
  tokenizer.mark_ends(format.stop_ids());
  tokenizer.mark_control(control_ids(tokenizer, format.layout()));
}

std::vector<std::string> choose_chat(Tokenizer& tokenizer, const ChatSource& source) {
  check_arguments(source.arguments);
  std::vector<std::string> said;
  ChatLayout layout;
  const auto chat_template = template_of(tokenizer, source);
  if (source.format != "auto") {
    layout = layout_named(source.format);
  } else if (!chat_template) {
    const ChatLayout* known = layout_by_tokens(tokenizer);
    if (!known)
      throw ConfigError(
          "model: it has no chat template, and its special tokens tell no known format: "
          "model.chat_format must be one of {}",
          known_names());
    if (!tokenizer.chat)
      said.push_back(
          fmt::format("chat: the folder has no chat template; its tokens are those of {}, and so "
                      "conversations are written; model.chat_format names another format",
                      known->name));
    layout = *known;
  } else if (const ChatLayout* of_temper = own_layout(*chat_template)) {
    layout = *of_temper;
  } else if (const ChatLayout* own = layout_of_own_template(chat_template->text)) {  // of an export
    layout = *own;
  } else if (tokenizer.chat && tokenizer.chat->source == chat_template->digest()) {
    layout = *tokenizer.chat;
  } else {
    layout = followed(tokenizer, *chat_template, source);
  }
  use_layout(tokenizer, std::move(layout));
  const ChatFormat format(tokenizer);
  for (const auto& lines :
       {lines_about(format.layout()), lines_about_end(format.layout()), lines_about_closing(format.layout())})
    said.insert(said.end(), lines.begin(), lines.end());
  if (format.layout().joins_text && !format.layout().starts_anew && !joins_openings(tokenizer, format))
    said.push_back(
        "chat: the template's opening of an answer ends within what could be one token with the answer's "
        "first characters; answers are encoded behind it, as a model writes them");
  return said;
}

void keep_layout(const Tokenizer& tokenizer, const std::filesystem::path& checkpoint) {
  if (tokenizer.chat) write_file_atomic(checkpoint / kKeptLayout, to_json(*tokenizer.chat).dump(1) + "\n");
}

void take_kept_layout(Tokenizer& tokenizer, const std::filesystem::path& checkpoint) {
  const std::filesystem::path file = checkpoint / kKeptLayout;
  constexpr uint64_t kMostBytes = 16 << 20;
  if (std::filesystem::exists(file))
    use_layout(tokenizer, layout_from(read_input_file(file, kMostBytes), file.string()));
}

bool has_other_template(const std::filesystem::path& dir, const Tokenizer& tokenizer) try {
  const auto text_of = [](const Tokenizer& of) {
    const auto chat_template = find_chat_template(of.files());
    return chat_template ? std::optional(chat_template->text) : std::nullopt;
  };
  return text_of(Tokenizer::load(dir)) != text_of(tokenizer);
} catch (const ConfigError&) {
  return false;
} catch (const WorldError&) {
  return false;
}

bool has_own_tokenizer(const std::filesystem::path& dir) try {
  const nlohmann::json config = read_json(dir / "tokenizer_config.json");
  return config.is_object() && config.value("chat_template", nlohmann::json()) == kOwnChatTemplate;
} catch (const ConfigError&) {  // no such file, or none of JSON: then it is not ours
  return false;
}

std::vector<std::string> try_chat(Tokenizer& tokenizer, const ChatSource& source,
                                  const std::vector<ChatQuestion>& questions) {
  const auto chat_template = template_of(tokenizer, source);
  if (!source.renderer || !tokenizer.chat || tokenizer.chat->source.empty() || !chat_template) return {};
  ChatLayout layout = *tokenizer.chat;
  const size_t before = layout.rewrites.size();
  try {
    try_layout(layout, *chat_template, questions, *source.renderer);
  } catch (const NoRenderer&) {  // it was tried where it was read off
    return {};
  }
  const bool news = layout.rewrites.size() > before;
  tokenizer.chat = std::make_shared<const ChatLayout>(layout);
  return news ? lines_about(layout) : std::vector<std::string>();
}

}  // namespace temper::policy
