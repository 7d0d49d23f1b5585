#include "env/task/problems/module_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/input/json.h"
#include "env/task/module_text.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFence = "```", kByteOrderMark = "\xef\xbb\xbf";
constexpr JsonLimits kInnerLimits{.bytes = 4 << 20, .depth = 16, .values = 100'000};
constexpr int kMostWrapped = 4;  // texts of JSON within texts of JSON

bool defines_anything(std::string_view source) {
  const auto names = top_level_names(source);
  return names.contains("get_inputs") || names.contains("get_init_inputs") || names.contains("Model");
}

// How much of a problem it is: nothing, some text, a part of one, a whole one whose class may have another name.
int rank_of(const FoundSource& found) {
  constexpr int kText = 1, kPart = 2, kWhole = 3;
  if (found.text.empty()) return 0;
  const auto names = top_level_names(found.text);
  if (names.contains("get_inputs") && names.contains("get_init_inputs")) return kWhole;
  return defines_anything(found.text) ? kPart : kText;
}

std::optional<std::string> text_at(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? std::optional(found->get<std::string>())
                                                     : std::nullopt;
}

// The code of the fenced blocks, each without its first line, which names a language.
std::vector<std::string> code_blocks(std::string_view text) {
  std::vector<std::string> blocks;
  for (size_t at = text.find(kFence); at != text.npos; at = text.find(kFence, at)) {
    const size_t begin = text.find('\n', at);
    if (begin == text.npos) break;
    // A fence that ends a block stands at the beginning of a line; one that is never closed ends with the text.
    size_t end = text.find(kFence, begin);
    while (end != text.npos && text.find_last_not_of(" \t", end - 1) != text.rfind('\n', end))
      end = text.find(kFence, end + kFence.size());
    blocks.emplace_back(text.substr(begin + 1, end == text.npos ? end : end - begin - 1));
    if (end == text.npos) break;
    at = end + kFence.size();
  }
  return blocks;
}

FoundSource found_in(const Json& value, int wrapped);

FoundSource found_in_text(std::string text, int wrapped) {
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  if (wrapped < kMostWrapped && std::string_view("{[\"").find(text[begin]) != std::string_view::npos) {
    try {
      if (FoundSource inner = found_in(parse_json(text, "it", kInnerLimits), wrapped + 1);
          !inner.text.empty())
        return inner;
    } catch (const ConfigError&) {  // it is no JSON
    }
  }
  FoundSource best;
  for (std::string& block : code_blocks(text))
    if (FoundSource inner{std::move(block), ""}; rank_of(inner) > 1 && rank_of(inner) >= rank_of(best))
      best = std::move(inner);
  // Words around a block may look like Python, too: the text itself counts where no block does.
  FoundSource whole;
  if (text.find("class ") != text.npos || text.find("def ") != text.npos) whole.text = std::move(text);
  return rank_of(whole) > rank_of(best) ? whole : best;
}

FoundSource found_in_object(const Json& object, int wrapped) {
  FoundSource best;
  for (const std::string& name : reference_fields()) {
    const auto part = object.find(name);
    if (part == object.end() || !(part->is_string() || part->is_structured())) continue;
    FoundSource found = found_in(*part, wrapped + 1);
    for (const char* entry : {"entry_point", "module_name", "class_name"})
      if (found.entry_point.empty()) found.entry_point = text_at(object, entry).value_or("");
    if (rank_of(found) > rank_of(best)) best = std::move(found);
  }
  return best;
}

FoundSource found_in(const Json& value, int wrapped) {
  if (wrapped > kMostWrapped) return {};
  if (value.is_string()) return found_in_text(value.get<std::string>(), wrapped);
  if (value.is_object()) return found_in_object(value, wrapped);
  FoundSource best;
  if (value.is_array())
    for (const Json& one : value)
      if (FoundSource found = found_in(one, wrapped + 1);
          rank_of(found) > 0 && rank_of(found) >= rank_of(best))
        best = std::move(found);
  return best;
}

}  // namespace

const std::vector<std::string>& reference_fields() {
  static const std::vector<std::string> names = {"code",
                                                 "reference_code",
                                                 "ref_code",
                                                 "python_code",
                                                 "pytorch_code",
                                                 "pytorch",
                                                 "PyTorch_Code_Module",
                                                 "pytorch_module",
                                                 "torch_code",
                                                 "pytorch_code_module",
                                                 "ref_arch_src",
                                                 "reference",
                                                 "source",
                                                 "src",
                                                 "ground_truth",
                                                 "module_code",
                                                 "problem",
                                                 "task",
                                                 "content",
                                                 "prompt",
                                                 "question"};
  return names;
}

FoundSource source_in(const Json& value) { return found_in(value, 0); }

std::string with_model(const std::string& source, const std::string& entry_point) {
  if (entry_point.empty() || entry_point == "Model" || !top_level_names(source).contains(entry_point))
    return source;
  return fmt::format(
      "{}\n\n\nclass Model({}):\n    def __init__(self, *given, **named):\n"
      "        if len(given) == 2 and isinstance(given[0], (list, tuple)) and isinstance(given[1], dict):\n"
      "            given, named = given\n"
      "        super().__init__(*given, **named)\n",
      source, entry_point);
}

}  // namespace temper::env
