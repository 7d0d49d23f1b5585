#include "policy/chat/trials.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/input/printable.h"
#include "base/input/utf8.h"
#include "policy/chat/comparison.h"
#include "policy/chat/known_layouts.h"

namespace temper::policy {
namespace {

using Messages = std::vector<ChatMessage>;
using Questions = std::vector<ChatQuestion>;

const std::vector<std::string>& contents() {
  static const std::vector<std::string> all = {
      "Write a kernel that adds two vectors.",
      "  two spaces around  ",
      "\n\nline breaks around\n",
      "\t tab, return \r\n",
      "x",
      "Grüße, 日本語 🙂 e\u0301",
      "one\n\n\ntwo   three\n    four",
      "```cuda\n__global__ void k(float* y) {\n  y[0] = 1.f;\n}\n```\n",
      "{{ x }} {% if y %} {# z #} {% endif %}",
      "<b>&amp;</b> \"quoted\" 'single' \\n %s {} $HOME",
      "0",
      "system user assistant System: User: Assistant: ### Instruction:",
      "- first\n- second\n",
      "\u00a0no break\u3000",
      "FAIL_COMPILE line 3: expected ';' before '}' token\nTry again.",
      std::string(300, 'a') + "\n" + std::string(3000, '-') + " end",
      "None",
      "tool [TOOL_CALLS] call",
  };
  return all;
}

const std::string& content(size_t i) { return contents()[i % contents().size()]; }

// `turns` messages of the user, each but the last answered; the last too where `answered`.
ChatQuestion conversation(size_t first, size_t turns, bool answered, bool with_system) {
  ChatQuestion question{.messages = {}, .generates = !answered};
  if (with_system) question.messages.push_back({"system", content(first + 5)});
  for (size_t i = 0; i < turns; ++i) {
    question.messages.push_back({"user", content(first + 3 * i)});
    if (answered || i + 1 < turns) question.messages.push_back({"assistant", content(first + 3 * i + 1)});
  }
  return question;
}

// The same once more, behind a system message.
Questions also_behind_system(Questions all) {
  for (size_t i = 0, count = all.size(); i < count; ++i) {
    all.push_back(all[i]);
    all.back().messages.insert(all.back().messages.begin(), {"system", content(i)});
  }
  return all;
}

// Conversations in which each answer in turn is one of these.
Questions with_answers(const std::vector<std::string>& answers) {
  Questions all;
  for (size_t i = 0; i < answers.size(); ++i) {
    const std::string& other = answers[(i + 1) % answers.size()];
    all.push_back({{{"user", content(i)}, {"assistant", answers[i]}}, false});
    all.push_back({{{"user", content(i)}, {"assistant", answers[i]}, {"user", content(i + 1)}}, true});
    all.push_back({{{"user", "a"}, {"assistant", answers[i]}, {"user", "b"}, {"assistant", other}}, false});
    all.push_back({{{"user", "a"}, {"assistant", "plain"}, {"user", "b"}, {"assistant", other}}, false});
    all.push_back({{{"user", "a"}, {"assistant", answers[i]}, {"user", "b"}, {"assistant", "plain"}}, false});
  }
  return all;
}

constexpr std::string_view kClosingAlone = "answer with </think> alone";

struct Kind {
  std::string_view limit;  // what of chat_limits a difference means; empty: the template is refused
  Questions questions;
};

std::vector<Kind> kinds(const ChatLayout& layout) {
  const bool system = !layout.limits.contains(std::string(chat_limits::kSystem));
  const auto whole = [&](Questions some) { return system ? also_behind_system(std::move(some)) : some; };
  const auto answers = [&](const std::vector<std::string>& some) { return whole(with_answers(some)); };
  std::vector<Kind> all = {{"", plain_trials(false)}};
  const std::vector<std::string> blanks = {"", " ", "\n \n"};
  if (system) {
    all.push_back({"", plain_trials(true)});
    Kind empty{chat_limits::kEmptySystem, {}};
    for (const std::string& blank : blanks) {
      empty.questions.push_back({{{"system", blank}, {"user", "a"}}, true});
      empty.questions.push_back({{{"system", blank}, {"user", "a"}, {"assistant", "b"}}, false});
    }
    all.push_back(empty);
  }
  Kind users{chat_limits::kEmptyUser, {}};
  for (const std::string& blank : blanks) {
    users.questions.push_back({{{"user", blank}}, true});
    users.questions.push_back({{{"user", "a"}, {"assistant", "b"}, {"user", blank}}, true});
  }
  users.questions = whole(std::move(users.questions));
  all.push_back(users);
  all.push_back({chat_limits::kEmptyAnswer, answers(blanks)});
  all.push_back({chat_limits::kReasoning,
                 answers({"<think>\nwhy\n</think>\n\nbecause", "<think>why</think>because",
                          "<think> why\n \n </think>  \n\n because\n", "<think>\n\n</think>\n\nbecause",
                          "<think>a\n\nb</think>\n\n```cpp\nint x;\n```\n"})});
  // Where the prompt opens the reasoning, a model's own answer has the other mark alone, whatever the template makes of it.
  if (layout.first.after.rfind(kThink) == std::string::npos)
    all.push_back({kClosingAlone, answers({"why\n</think>\n\nbecause", "why</think>because"})});
  all.push_back({chat_limits::kOddReasoning,
                 answers({"before <think>a</think> behind", "<think>a</think>b<think>c</think>d",
                          "<think>\nnever closed", "a</think>b</think>c", "not <think> in front"})});
  return all;
}

// Turns of which the template wrote each as the layout does when it was the last one.
bool was_alike(const ChatLayout& layout, const ChatTemplate& chat_template, const Messages& messages,
               const ChatRenderer& renderer) {
  Questions shorter;
  for (size_t i = 0; i < messages.size(); ++i)
    if (messages[i].role == "user" && i + 2 < messages.size())
      shorter.push_back({{messages.begin(), messages.begin() + std::ptrdiff_t(i + 2)}, false});
  const auto rendered = renderer.render(chat_template, shorter);
  for (size_t i = 0; i < shorter.size(); ++i)
    if (!rendered[i].error.empty() || compare_chat(layout, shorter[i], rendered[i].text).differs())
      return false;
  return true;
}

// The first conversation that differs, and how; "" where none does.
std::pair<const ChatQuestion*, std::string> first_difference(ChatLayout& layout,
                                                             const ChatTemplate& chat_template,
                                                             const Questions& questions,
                                                             const std::vector<RenderedChat>& rendered,
                                                             const ChatRenderer& renderer) {
  for (size_t i = 0; i < questions.size(); ++i) {
    const Messages& messages = questions[i].messages;
    const std::string refused = refusal(layout, messages);
    if (!refused.empty()) continue;
    if (!rendered[i].error.empty())
      return {&questions[i], fmt::format("it says '{}'", printable(rendered[i].error, 300))};
    ++layout.tried;
    const ChatComparison found = compare_chat(layout, questions[i], rendered[i].text);
    const bool other = found.rewrite == rewrites::kOther;
    if (found.differs() || (other && !was_alike(layout, chat_template, messages, renderer)))
      return {&questions[i], show_difference(expected_text(layout, messages), rendered[i].text)};
    if (!found.equal && std::ranges::count(layout.rewrites, found.rewrite) == 0)
      layout.rewrites.push_back(found.rewrite);
  }
  return {nullptr, ""};
}

std::pair<const ChatQuestion*, std::string> first_difference(ChatLayout& layout,
                                                             const ChatTemplate& chat_template,
                                                             const Questions& questions,
                                                             const ChatRenderer& renderer) {
  return first_difference(layout, chat_template, questions, renderer.ask(chat_template, questions), renderer);
}

}  // namespace

std::vector<ChatQuestion> plain_trials(bool with_system) {
  Questions all;
  for (size_t first = 0; first < contents().size(); ++first)
    for (const bool answered : {false, true})
      all.push_back(conversation(first, 1 + (first + answered) % 4, answered, with_system));
  return all;
}

void try_all_kinds(ChatLayout& layout, const ChatTemplate& chat_template, const ChatRenderer& renderer) {
  for (const Kind& kind : kinds(layout)) {
    if (kind.limit == chat_limits::kEmptySystem) {
      ChatLayout other = layout;
      other.empty_system_is_none = true;
      if (first_difference(layout, chat_template, kind.questions, renderer).first &&
          !first_difference(other, chat_template, kind.questions, renderer).first)
        layout.empty_system_is_none = true;
    }
    if (kind.limit == kClosingAlone) {
      ChatLayout other = layout;
      other.reasoning_needs_opening = true;
      if (first_difference(layout, chat_template, kind.questions, renderer).first &&
          !first_difference(other, chat_template, kind.questions, renderer).first)
        layout.reasoning_needs_opening = true;
    }
    const auto [question, why] = first_difference(layout, chat_template, kind.questions, renderer);
    if (!question) continue;
    if (kind.limit.empty()) refuse_template(chat_template, question->messages, why);
    layout.limits.emplace(kind.limit == kClosingAlone ? chat_limits::kOddReasoning : kind.limit);
  }
}

void try_layout(ChatLayout& layout, const ChatTemplate& chat_template, const Questions& questions,
                const ChatRenderer& renderer) {
  const auto [question, why] = first_difference(layout, chat_template, questions, renderer);
  if (question) refuse_template(chat_template, question->messages, why);
}

void compare_again(ChatLayout& layout, const ChatTemplate& chat_template, const Questions& questions,
                   const std::vector<RenderedChat>& rendered, const ChatRenderer& renderer) {
  layout.tried = 0;
  const auto [question, why] = first_difference(layout, chat_template, questions, rendered, renderer);
  if (question) refuse_template(chat_template, question->messages, why);
}

std::vector<RenderedChat> ChatRenderer::ask(const ChatTemplate& chat_template,
                                            const Questions& questions) const {
  std::vector<RenderedChat> all = render(chat_template, questions);
  TEMPER_CHECK(all.size() == questions.size(), "{} texts for {} conversations", all.size(), questions.size());
  for (size_t i = 0; i < all.size(); ++i)
    if (valid_utf8_prefix(all[i].text) != all[i].text.size())
      refuse_template(chat_template, questions[i].messages,
                      fmt::format("it writes what is not UTF-8: '{}'", printable(all[i].text, 300)));
  return all;
}

void refuse_template(const ChatTemplate&, const Messages& messages, const std::string& why) {
  std::vector<std::string> names = layout_names();
  std::erase(names, "auto");
  const bool lacks_name = why.find("UndefinedError") != std::string::npos;
  throw ConfigError(
      "model: its chat template cannot be followed: asked for {}, {}; {}model.chat_format={} writes "
      "conversations in a known format instead",
      show_conversation(messages), why,
      lacks_name ? "model.chat_arguments gives it a name that it lacks; " : "", fmt::join(names, "|"));
}

}  // namespace temper::policy
