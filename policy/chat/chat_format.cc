#include "policy/chat/chat_format.h"

#include <algorithm>

#include "base/error.h"
#include "policy/chat/known_layouts.h"

namespace temper::policy {
namespace {

const ChatLayout& layout_of(const Tokenizer& tokenizer, std::string_view name) {
  if (name != "auto") return layout_named(name);
  if (tokenizer.chat) return *tokenizer.chat;
  const auto chat_template = find_chat_template(tokenizer.files());
  const ChatLayout* known = chat_template ? own_layout(*chat_template) : layout_by_tokens(tokenizer);
  if (!known)
    throw ConfigError("model: its {} is not known: model.chat_format must be one of {}",
                      chat_template ? "chat template" : "set of special tokens",
                      fmt::join(layout_names(), ", "));
  return *known;
}

// Where the part of an opening begins that opens reasoning and does not close it.
size_t reasoning_begin(const std::string& opening) {
  const size_t at = opening.rfind(kThink);
  return at == std::string::npos || opening.find(kEndThink, at) != std::string::npos ? opening.size() : at;
}

void append(std::vector<int32_t>& ids, const std::vector<int32_t>& more) {
  ids.insert(ids.end(), more.begin(), more.end());
}

}  // namespace

ChatFormat::ChatFormat(const Tokenizer& tokenizer, std::string_view name)
    : tokenizer_(&tokenizer), layout_(&layout_of(tokenizer, name)) {
  for (const std::string& token : layout_->tokens)
    if (!tokenizer.find_special(token))
      throw ConfigError("chat format {}: the tokenizer has no token {}", layout_->name, token);
  const auto add = [&](int32_t id) {
    if (std::ranges::count(stop_ids_, id) == 0) stop_ids_.push_back(id);
  };
  const auto stop = tokenizer.find_special(layout_->stop);
  if (!stop) throw ConfigError("chat format {}: the tokenizer has no token {}", layout_->name, layout_->stop);
  add(*stop);
  for (const std::string& token : layout_->more_stops)
    if (const auto id = tokenizer.find_special(token)) add(*id);
  own_stops_ = stop_ids_.size();
  for (const int32_t id : tokenizer.ends()) add(id);
}

std::vector<std::string> ChatFormat::names() { return layout_names(); }

std::vector<int32_t> ChatFormat::encode(const MarkedText& text, std::string_view behind) const {
  if (!layout_->joins_text) return encode_apart(text);
  if (layout_->starts_anew) return encode_anew(text);
  MarkedText whole;
  whole.add(behind);
  whole.add(text);
  std::vector<int32_t> ids = tokenizer_->encode_written(whole.text, whole.contents);
  if (behind.empty()) return ids;
  TEMPER_CHECK(!ids.empty() && ids.front() == tokenizer_->special(behind), "{}", behind);
  ids.erase(ids.begin());
  return ids;
}

std::vector<int32_t> ChatFormat::encode_apart(const MarkedText& text) const {
  std::vector<int32_t> ids;
  size_t at = 0;
  const auto take = [&](size_t begin, size_t end) {
    const std::string_view part = std::string_view(text.text).substr(at, begin - at);
    append(ids, tokenizer_->encode_written(part, {}, false));
    append(ids, tokenizer_->encode(std::string_view(text.text).substr(begin, end - begin)));
    at = end;
  };
  for (const TextRange& range : text.contents) take(range.begin, range.end);
  take(text.text.size(), text.text.size());
  return ids;
}

std::vector<int32_t> ChatFormat::encode_anew(const MarkedText& text) const {
  std::vector<int32_t> ids;
  MarkedText part;
  const auto flush = [&] {
    if (!part.text.empty()) append(ids, tokenizer_->encode_written(part.text, part.contents));
    part = {};
  };
  const auto add_own = [&](std::string_view own) {
    while (!own.empty()) {
      size_t at = own.size();
      std::string_view found;
      for (const std::string& token : layout_->tokens)
        if (const size_t place = own.find(token); place < at) at = place, found = token;
      part.add(own.substr(0, at));
      if (found.empty()) return;
      flush();
      ids.push_back(tokenizer_->special(found));
      own.remove_prefix(at + found.size());
    }
  };
  size_t at = 0;
  for (const TextRange& range : text.contents) {
    add_own(std::string_view(text.text).substr(at, range.begin - at));
    part.add_content(std::string_view(text.text).substr(range.begin, range.end - range.begin));
    at = range.end;
  }
  add_own(std::string_view(text.text).substr(at));
  flush();
  return ids;
}

// Encoded together with the prompt, as transformers has it, unless a token would lie on both sides.
std::vector<int32_t> ChatFormat::answer_ids(const WrittenTurn& turn, std::string_view behind,
                                            const std::vector<int32_t>& prompt) const {
  if (!layout_->joins_text) return encode_apart(turn.answer);
  if (layout_->starts_anew) return encode_anew(turn.answer);
  MarkedText whole = turn.prompt;
  whole.add(turn.answer);
  std::vector<int32_t> ids = encode(whole, behind);
  if (ids.size() < prompt.size() || !std::equal(prompt.begin(), prompt.end(), ids.begin()))
    return tokenizer_->encode_written(turn.answer.text, turn.answer.contents, false);
  ids.erase(ids.begin(), ids.begin() + std::ptrdiff_t(prompt.size()));
  return ids;
}

void ChatFormat::check(std::span<const ChatMessage> messages) const {
  if (const std::string why = refusal(*layout_, messages); !why.empty()) throw ConfigError("{}", why);
}

std::vector<int32_t> ChatFormat::first_turn(std::string_view content,
                                            std::optional<std::string_view> system) const {
  std::vector<ChatMessage> messages;
  if (system) messages.push_back({"system", std::string(*system)});
  messages.push_back({"user", std::string(content)});
  check(messages);
  return encode(write_turns(*layout_, messages).front().prompt, "");
}

std::vector<int32_t> ChatFormat::user_turn(std::string_view content, bool reasons) const {
  check(std::vector<ChatMessage>{{"user", std::string(content)}});
  const UserTurn& user = layout_->further;
  MarkedText text;
  text.add(user.before);
  text.add_content(trimmed(content, user.trim));
  const bool closed = user.after.find(kEndThink) != std::string::npos;
  if (reasons || closed || (layout_->reasoning == ReasoningUse::kText && !opens_reasoning())) {
    text.add(user.after);
  } else {
    text.add(user.after.substr(0, reasoning_begin(user.after)));
    text.add("<think>\n\n</think>\n\n");
  }
  return encode(text, layout_->stop);
}

std::vector<int32_t> ChatFormat::opening_reasoning() const {
  const std::string& after = layout_->further.after;
  const size_t at = reasoning_begin(after);
  if (at == after.size()) return {};
  MarkedText text;
  text.add(after.substr(at));
  return tokenizer_->encode_written(text.text, {}, false);
}

ChatFormat::Conversation ChatFormat::conversation(std::span<const ChatMessage> messages) const {
  check(messages);
  Conversation written;
  for (const ChatMessage& message : messages)
    written.control_names += tokenizer_->count_control_names(message.content);
  std::string_view behind;
  for (const WrittenTurn& turn : write_turns(*layout_, messages)) {
    const std::vector<int32_t> prompt = encode(turn.prompt, behind);
    append(written.ids, prompt);
    if (turn.answered) {
      const size_t begin = written.ids.size();
      append(written.ids, answer_ids(turn, behind, prompt));
      written.answers.push_back({begin, written.ids.size()});
    }
    behind = layout_->stop;
  }
  return written;
}

std::vector<int32_t> ChatFormat::closing() const {
  MarkedText text;
  text.add(layout_->closing);
  return encode(text, layout_->stop);
}

bool ChatFormat::opens_reasoning() const {
  return reasoning_begin(layout_->first.after) < layout_->first.after.size();
}

}  // namespace temper::policy
