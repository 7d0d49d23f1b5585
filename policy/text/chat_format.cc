#include "policy/text/chat_format.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "policy/text/chat_layouts.h"

namespace temper::policy {
namespace {

constexpr std::string_view kContent = "{}", kThink = "<think>", kEndThink = "</think>";

void append(std::vector<int32_t>& ids, const std::vector<int32_t>& more) {
  ids.insert(ids.end(), more.begin(), more.end());
}

std::string_view without(std::string_view text, std::string_view characters) {
  const size_t first = text.find_first_not_of(characters);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(characters) - first + 1);
}

std::string with_content(std::string_view pattern, std::string_view content) {
  std::string text(pattern);
  if (const size_t at = text.find(kContent); at != std::string::npos)
    text.replace(at, kContent.size(), content);
  return text;
}

// Reasoning at the front of an answer, and what follows it.
struct Reasoned {
  std::string_view reasoning, rest;
};

std::optional<Reasoned> split_reasoning(std::string_view answer) {
  const std::string_view text = answer.substr(std::min(answer.find_first_not_of(" \n"), answer.size()));
  const size_t end = text.find(kEndThink);
  if (!text.starts_with(kThink) || end == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(end + kEndThink.size());
  return Reasoned{without(text.substr(kThink.size(), end - kThink.size()), "\n"),
                  rest.substr(std::min(rest.find_first_not_of('\n'), rest.size()))};
}

}  // namespace

ChatFormat::ChatFormat(const Tokenizer& tokenizer, std::string_view name) : tokenizer_(&tokenizer) {
  if (name == "auto") name = tokenizer.chat_format;
  layout_ = &(name == "auto" ? recognised_layout(tokenizer) : layout_named(name));
  for (const std::string_view token : layout_->tokens)
    if (!tokenizer.find_special(token))
      throw ConfigError("chat format {}: the tokenizer has no token {}", layout_->name, token);
  for (const std::string_view token : layout_->stops)
    if (const auto id = tokenizer.find_special(token)) stop_ids_.push_back(*id);
  TEMPER_CHECK(!stop_ids_.empty(), "{}", layout_->name);
}

std::vector<std::string> ChatFormat::names() { return layout_names(); }

std::string_view ChatFormat::name() const { return layout_->name; }

std::vector<int32_t> ChatFormat::render(std::string_view pattern, std::string_view content) const {
  const ChatLayout& layout = *layout_;
  std::vector<int32_t> ids;
  const auto add_text = [&](std::string_view text) {
    const size_t at = text.find(kContent);
    if (layout.joins_text || at == std::string_view::npos) {
      if (const std::string whole = with_content(text, content); !whole.empty())
        append(ids, tokenizer_->encode_start(whole));
    } else {
      for (const std::string_view part : {text.substr(0, at), content, text.substr(at + kContent.size())})
        append(ids, tokenizer_->encode(part));
    }
  };
  for (size_t from = 0; from < pattern.size();) {
    size_t next = pattern.size();
    std::string_view special;
    for (const std::string_view token : layout.tokens)
      if (const size_t at = pattern.find(token, from); at < next) next = at, special = token;
    if (next > from) add_text(pattern.substr(from, next - from));
    if (!special.empty()) ids.push_back(tokenizer_->special(special));
    from = next + special.size();
  }
  return ids;
}

std::string_view ChatFormat::trimmed(std::string_view content) const {
  return layout_->trims ? without(content, " \t\n\v\f\r") : content;
}

std::vector<int32_t> ChatFormat::first_turn(std::string_view content, std::string_view system) const {
  const ChatLayout& layout = *layout_;
  if (system.empty()) system = layout.default_system;
  std::string user(trimmed(content));
  std::vector<int32_t> ids = render(layout.start);
  if (!layout.system.empty() && (!system.empty() || layout.system_always))
    append(ids, render(layout.system, trimmed(system)));
  if (layout.system.empty() && !system.empty())
    user = with_content(layout.merged_system, trimmed(system)) + user;
  append(ids, render(layout.user, user));
  append(ids, render(layout.opening));
  return ids;
}

std::vector<int32_t> ChatFormat::user_turn(std::string_view content, bool reasons) const {
  std::vector<int32_t> ids = render(layout_->further_start);
  append(ids, render(layout_->user, trimmed(content)));
  append(ids, render(layout_->opening));
  if (reasons || layout_->reasoning == Reasoning::kText || layout_->reasoning == Reasoning::kNone) return ids;
  ids.resize(ids.size() - opening_reasoning().size());
  append(ids, render("<think>\n\n</think>\n\n"));
  return ids;
}

std::vector<int32_t> ChatFormat::opening_reasoning() const {
  const size_t at = layout_->opening.find(kThink);
  if (layout_->reasoning == Reasoning::kText || at == std::string_view::npos) return {};
  return render(layout_->opening.substr(at));
}

std::vector<int32_t> ChatFormat::answer(std::string_view content) const {
  const ChatLayout& layout = *layout_;
  std::vector<int32_t> ids;
  const auto reasoned = layout.reasoning == Reasoning::kText ? std::nullopt : split_reasoning(content);
  if (reasoned) content = reasoned->rest;
  if (reasoned && layout.reasoning != Reasoning::kNone)
    append(ids,
           render(opens_reasoning() ? "{}\n</think>\n\n" : "<think>\n{}\n</think>\n\n", reasoned->reasoning));
  append(ids, render(layout.answer, trimmed(content)));
  ids.push_back(stop_id());
  return ids;
}

std::vector<int32_t> ChatFormat::after_answer() const { return render(layout_->after_answer); }

bool ChatFormat::opens_reasoning() const { return layout_->reasoning == Reasoning::kOpened; }

}  // namespace temper::policy
