#include "trainer/cold_start/conversations.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/input/rows/rows.h"
#include "base/input/wrapped.h"
#include "trainer/cold_start/conversation_form.h"

namespace temper::trainer {
namespace {

using rollout::ChatExample;

constexpr size_t kBatchRows = 2048, kBatchBytes = 16 << 20;
constexpr size_t kMostNamed = 3, kMostMessages = 12;

std::string some_of(const std::vector<std::string>& names) {
  const size_t shown = names.size() > kMostNamed + 1 ? kMostNamed : names.size();
  const std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + std::ptrdiff_t(shown), ", "));
  return shown < names.size() ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}

std::string shape_of(const ChatExample& example) {
  std::vector<std::string> parts;
  for (const rollout::ChatMessage& message : example.messages)
    parts.push_back(
        fmt::format("{} {}{}", message.role, columns_of(message.content), message.weight > 0 ? "*" : ""));
  const size_t all = parts.size();
  parts.resize(std::min(all, kMostMessages));
  return fmt::format("{}{}", fmt::join(parts, ", "),
                     all > kMostMessages ? fmt::format(" and {} more", all - kMostMessages) : "");
}

RowOptions row_options(const ConversationSource& source) {
  RowOptions options{.pythons = source.pythons};
  for (const std::string& path :
       {source.fields.messages, source.fields.prompt, source.fields.completion, source.fields.weight})
    if (!path.empty()) options.whole.push_back(path.substr(0, path.find('.')));
  return options;
}

size_t bytes_of(const ChatExample& example) {
  size_t bytes = 0;
  for (const rollout::ChatMessage& message : example.messages) bytes += message.content.size();
  return bytes;
}

void add_file(ConversationFacts& facts, const std::string& form, const std::filesystem::path& file) {
  auto known = std::ranges::find(facts.forms, form, &std::pair<std::string, std::vector<std::string>>::first);
  if (known == facts.forms.end()) {
    facts.forms.emplace_back(form, std::vector<std::string>());
    known = std::prev(facts.forms.end());
  }
  known->second.push_back(file.filename().string());
}

// Whether more are wanted.
bool read_one_file(const std::filesystem::path& file, const ConversationSource& source,
                   const TakeConversation& take, ConversationFacts& facts) {
  std::optional<ConversationForm> form;
  bool more = true;
  read_rows(file, row_options(source), [&](InputRow&& row) {
    if (!form) form.emplace(row.json, source.fields);
    ChatExample example = form->example_of(row.json);
    example.place = std::move(row.place);
    if (facts.conversations++ == 0) facts.first = shape_of(example);
    more = take(std::move(example));
    return more;
  });
  if (!form) throw ConfigError("{}: holds no conversation", file.string());
  add_file(facts, form->name(), file);
  return more;
}

}  // namespace

int64_t ConversationFacts::files() const {
  int64_t files = 0;
  for (const auto& [form, names] : forms) files += std::ssize(names);
  return files;
}

std::string ConversationFacts::line(const std::string& path, int64_t too_long, int64_t max_tokens) const {
  std::vector<std::string> named, left_out;
  for (const auto& [form, names] : forms)
    named.push_back(forms.size() == 1 ? form : fmt::format("{} in {}", form, some_of(names)));
  if (too_long > 0) left_out.push_back(fmt::format("{} longer than {} tokens", too_long, max_tokens));
  if (!files_left_out.empty()) left_out.push_back(some_of(files_left_out));
  return fmt::format("{} conversations from {}{}, {}{}", conversations - too_long, path,
                     files() > 1 ? fmt::format(" ({} files)", files()) : "", fmt::join(named, ", "),
                     left_out.empty() ? "" : fmt::format("; left out: {}", fmt::join(left_out, ", ")));
}

std::string ConversationFacts::first_line() const {
  return fmt::format("the first conversation, in characters: {}; what has a * is learned", first);
}

ConversationFacts read_conversations(const ConversationSource& source, const TakeConversation& take) {
  RowFiles found = row_files(source.path);
  ConversationFacts facts{.files_left_out = std::move(found.left_out)};
  for (const std::filesystem::path& file : found.files)
    if (!read_one_file(file, source, take, facts)) break;
  return facts;
}

ConversationFacts read_conversation_batches(
    const ConversationSource& source, const std::function<void(const std::vector<ChatExample>&)>& take) {
  std::vector<ChatExample> batch;
  size_t bytes = 0;
  const auto flush = [&] {
    if (!batch.empty()) take(batch);
    batch.clear();
    bytes = 0;
  };
  const ConversationFacts facts = read_conversations(source, [&](ChatExample&& example) {
    bytes += bytes_of(example);
    batch.push_back(std::move(example));
    if (batch.size() >= kBatchRows || bytes >= kBatchBytes) flush();
    return true;
  });
  flush();
  return facts;
}

}  // namespace temper::trainer
