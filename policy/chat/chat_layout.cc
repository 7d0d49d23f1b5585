#include "policy/chat/chat_layout.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/printable.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;

// Each field once, for both directions.
template <class Trims, class Visit>
void visit_trim(Trims& trim, const Visit& visit) {
  visit("left", trim.left);
  visit("right", trim.right);
}

template <class Turn, class Visit>
void visit_turn(Turn& turn, const Visit& visit) {
  visit("before", turn.before);
  visit("trim", turn.trim);
  visit("after", turn.after);
  visit("told", turn.told);
  visit("told_earlier", turn.told_earlier);
  visit("reasoned", turn.reasoned);
}

template <class Layout, class Visit>
void visit_layout(Layout& layout, const Visit& visit) {
  visit("name", layout.name);
  visit("source", layout.source);
  visit("tried", layout.tried);
  visit("date", layout.date);
  visit("before_system", layout.before_system);
  visit("system_trim", layout.system_trim);
  visit("empty_system_is_none", layout.empty_system_is_none);
  visit("first", layout.first);
  visit("first_with_system", layout.first_with_system);
  visit("further", layout.further);
  visit("answer_trim", layout.answer_trim);
  visit("earlier_answer_trim", layout.earlier_answer_trim);
  visit("answer_end", layout.answer_end);
  visit("stop", layout.stop);
  visit("end_use", layout.end_use);
  visit("more_stops", layout.more_stops);
  visit("closing", layout.closing);
  visit("reasoning", layout.reasoning);
  visit("reasoning_needs_opening", layout.reasoning_needs_opening);
  visit("reasoning_trim", layout.reasoning_trim);
  visit("reasoned_answer_trim", layout.reasoned_answer_trim);
  visit("dropped_trim", layout.dropped_trim);
  visit("behind_reasoning", layout.behind_reasoning);
  visit("limits", layout.limits);
  visit("why", layout.why);
  visit("tokens", layout.tokens);
  visit("rewrites", layout.rewrites);
  visit("joins_text", layout.joins_text);
  visit("starts_anew", layout.starts_anew);
}

struct Writer {
  Json& json;
  template <class T>
  void operator()(const char* key, const T& value) const {
    json[key] = value;
  }
  void operator()(const char* key, const Trim& trim) const { visit_trim(trim, Writer{json[key]}); }
  void operator()(const char* key, const UserTurn& turn) const { visit_turn(turn, Writer{json[key]}); }
  void operator()(const char* key, const ReasoningUse& use) const { json[key] = int(use); }
  void operator()(const char* key, const EndUse& use) const { json[key] = int(use); }
};

struct Reader {
  const Json& json;
  template <class T>
  void operator()(const char* key, T& value) const {
    value = json.at(key).get<T>();
  }
  void operator()(const char* key, Trim& trim) const { visit_trim(trim, Reader{json.at(key)}); }
  void operator()(const char* key, UserTurn& turn) const { visit_turn(turn, Reader{json.at(key)}); }
  void operator()(const char* key, ReasoningUse& use) const {
    use = ReasoningUse(number(key, int(ReasoningUse::kDropped)));
  }
  void operator()(const char* key, EndUse& use) const { use = EndUse(number(key, int(EndUse::kNever))); }
  int number(const char* key, int last) const {
    const int found = json.at(key).get<int>();
    if (found < 0 || found > last) throw ConfigError("{} is {}", key, found);
    return found;
  }
};

}  // namespace

Json to_json(const ChatLayout& layout) {
  Json json = Json::object();
  visit_layout(layout, Writer{json});
  return json;
}

ChatLayout layout_from(std::string_view text, const std::string& origin) {
  const Json json = parse_json_object(text, origin);
  ChatLayout layout;
  try {
    visit_layout(layout, Reader{json});
  } catch (const std::exception& e) {
    throw ConfigError("{}: is no chat layout: {}", origin, printable(e.what(), 200));
  }
  return layout;
}

}  // namespace temper::policy
