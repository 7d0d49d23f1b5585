#include "policy/chat/chat_template_write.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace temper::policy {
namespace {

std::string jinja_text(std::string_view text) {
  std::string literal = "'";
  for (const char c : text) {
    if (c == '\n') {
      literal += "\\n";
    } else if (c == '\t') {
      literal += "\\t";
    } else if (uint8_t(c) < ' ') {
      literal += fmt::format("\\x{:02x}", uint8_t(c));
    } else {
      if (c == '\'' || c == '\\') literal += '\\';
      literal += c;
    }
  }
  return literal + "'";
}

std::string stripped(const std::string& value, const Trim& trim) {
  if (trim.left == kWhiteSpace && trim.right == kWhiteSpace) return value + ".strip()";
  std::string text = value;
  const auto add = [&](const char* function, const std::string& characters) {
    if (characters == kWhiteSpace) text += fmt::format(".{}()", function);
    if (characters != kWhiteSpace && !characters.empty())
      text += fmt::format(".{}({})", function, jinja_text(characters));
  };
  add("lstrip", trim.left);
  add("rstrip", trim.right);
  return text;
}

// An expression that has the turn's value: of the first one, of the first behind a system message, of a further one.
template <class Value>
std::string by_turn(const ChatLayout& layout, const Value& value) {
  const std::string first = value(layout.first), with_system = value(layout.first_with_system),
                    further = value(layout.further);
  const std::string opening =
      first == with_system ? first : fmt::format("({} if system is none else {})", first, with_system);
  return opening == further ? further : fmt::format("({} if loop.index0 < 2 else {})", opening, further);
}

std::string text_by_turn(const ChatLayout& layout, std::string UserTurn::*part) {
  return by_turn(layout, [&](const UserTurn& turn) { return jinja_text(turn.*part); });
}

std::string print(const std::string& expression) { return fmt::format("{{{{- {} }}}}\n", expression); }
std::string block(const std::string& statement) { return fmt::format("{{%- {} %}}\n", statement); }

std::string system_part(const ChatLayout& layout) {
  const bool refused = layout.limits.contains(std::string(chat_limits::kSystem));
  std::string text = block("set system = none") + block("set turns = messages") +
                     block("if messages and messages[0].role == 'system'") +
                     block("set turns = messages[1:]");
  if (refused)
    text += print("raise_exception('This model takes no system message.')");
  else
    text += block("set system = " + stripped("messages[0].content", layout.system_trim));
  if (layout.empty_system_is_none)
    text += block("if not system") + block("set system = none") + block("endif");
  text += block("endif");
  if (!refused)
    text += block("if system is not none") + print(jinja_text(layout.before_system) + " + system") +
            block("endif");
  return text;
}

// A message of the user at the end, where no answer is asked for.
std::string unanswered(const ChatLayout& layout, const UserTurn& turn) {
  const std::string end = layout.answer_end + layout.closing;
  return turn.after.starts_with(end) ? end : turn.after;
}

std::string user_part(const ChatLayout& layout) {
  const std::string content =
      by_turn(layout, [](const UserTurn& turn) { return stripped("message.content", turn.trim); });
  return print(text_by_turn(layout, &UserTurn::before) + " + " + content) + block("if loop.last") +
         print(fmt::format(
             "({}) if add_generation_prompt else ({})", text_by_turn(layout, &UserTurn::after),
             by_turn(layout, [&](const UserTurn& turn) { return jinja_text(unanswered(layout, turn)); }))) +
         block("endif");
}

std::string plain_answer(const ChatLayout& layout) {
  const std::string told = text_by_turn(layout, &UserTurn::told),
                    earlier = text_by_turn(layout, &UserTurn::told_earlier),
                    last_answer = stripped("answer", layout.answer_trim),
                    earlier_answer = stripped("answer", layout.earlier_answer_trim);
  if (told == earlier && last_answer == earlier_answer) return print(told + " + " + last_answer);
  return block("if loop.last") + print(told + " + " + last_answer) + block("else") +
         print(earlier + " + " + earlier_answer) + block("endif");
}

std::string answer_part(const ChatLayout& layout) {
  std::string text = block("set answer = message.content"), opened = "";
  if (layout.reasoning != ReasoningUse::kText) {
    const std::string front = "answer.split('</think>')[0]";
    if (layout.reasoning_needs_opening) opened = " and '<think>' in " + front;
    text += block("if '</think>' in answer" + opened) +
            print(text_by_turn(layout, &UserTurn::reasoned) + " + " +
                  stripped(front + ".split('<think>')[-1]", layout.reasoning_trim) + " + " +
                  jinja_text(layout.behind_reasoning) + " + " +
                  stripped("answer.split('</think>')[-1]", layout.reasoned_answer_trim)) +
            block("else") + plain_answer(layout) + block("endif");
  } else {
    text += plain_answer(layout);
  }
  text += print(jinja_text(layout.answer_end));
  if (!layout.closing.empty())
    text += block("if loop.last") + print(jinja_text(layout.closing)) + block("endif");
  return text;
}

}  // namespace

std::string chat_template_text(const ChatLayout& layout) {
  std::string text = system_part(layout);
  text += block("for message in turns");
  text += block("if message.role != ('user' if loop.index0 % 2 == 0 else 'assistant')") +
          print(
              "raise_exception('Messages of the user and answers must alternate, behind a system message at "
              "most.')") +
          block("endif");
  text += block("if message.role == 'user'") + user_part(layout) + block("else") + answer_part(layout) +
          block("endif");
  text += block("endfor");
  text.pop_back();  // a line break at the end would be rendered
  return text;
}

const ChatLayout* layout_of_own_template(const std::string& text) {
  static const std::map<std::string, std::string> names = [] {
    std::map<std::string, std::string> all;
    for (const std::string& name : layout_names())
      if (name != "auto" && name != "temper") all.emplace(chat_template_text(layout_named(name)), name);
    return all;
  }();
  const auto found = names.find(text);
  return found == names.end() ? nullptr : &layout_named(found->second);
}

}  // namespace temper::policy
