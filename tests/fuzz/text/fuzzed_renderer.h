#pragma once
// A chat template that the input of a fuzz target writes: always ends, and gives the same text to the same conversation.
//
// The input is parts with a zero byte between them. The first five are programs: for the start of a text, a system message,
// a message of the user, an answer, and the opening of an answer. The others are texts that programs write. In a program a
// letter does what the table in `step` says, and any other byte is written as it is.

#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/chat/renderer.h"

namespace temper::fuzz {

class FuzzedRenderer : public policy::ChatRenderer {
 public:
  using Asked = std::vector<std::pair<policy::ChatQuestion, policy::RenderedChat>>;

  explicit FuzzedRenderer(std::string_view input) : parts_(5) {
    for (size_t i = 0; i < kMostParts; ++i) {
      const size_t end = input.find('\0');
      if (i >= parts_.size()) parts_.emplace_back();
      parts_[i] = input.substr(0, end);
      if (end == std::string_view::npos) break;
      input.remove_prefix(end + 1);
    }
  }

  std::vector<policy::RenderedChat> render(
      const policy::ChatTemplate&, const std::vector<policy::ChatQuestion>& questions) const override {
    std::vector<policy::RenderedChat> all;
    for (const policy::ChatQuestion& question : questions) {
      all.push_back(rendered(question));
      asked_.emplace_back(question, all.back());
    }
    return all;
  }

  // All so far, with the answers.
  const Asked& asked() const { return asked_; }

 private:
  static constexpr size_t kMostParts = 40, kMostSteps = 64, kMostText = 1 << 15;

  struct State {
    const policy::ChatQuestion* question = nullptr;
    size_t at = 0;  // message
    policy::RenderedChat out = {};
    std::string_view content() const {
      return at < question->messages.size() ? std::string_view(question->messages[at].content) : "";
    }
    std::string_view role() const {
      return at < question->messages.size() ? std::string_view(question->messages[at].role) : "";
    }
    bool last() const { return at + 1 >= question->messages.size(); }
  };

  policy::RenderedChat rendered(const policy::ChatQuestion& question) const {
    State state{.question = &question};
    run(parts_[0], state);
    for (; state.at < question.messages.size(); ++state.at)
      run(parts_[state.role() == "system" ? 1 : state.role() == "user" ? 2 : 3], state);
    if (question.generates) run(parts_[4], state);
    return state.out;
  }

  void run(std::string_view program, State& state) const {
    for (size_t steps = 0; !program.empty() && steps < kMostSteps && state.out.error.empty(); ++steps) {
      bool runs = true;
      while (program.size() > 2 && (program[0] == '?' || program[0] == '!')) {
        runs = runs && holds(program[1], state) == (program[0] == '?');
        program.remove_prefix(2);
      }
      const char op = program[0];
      program.remove_prefix(1);
      char argument = '0';
      if ((op == 'p' || op == 'k') && !program.empty()) argument = program[0], program.remove_prefix(1);
      if (!runs) continue;
      if (op == 'e') return;
      step(op, argument, state);
      if (state.out.text.size() > kMostText) state.out.text.resize(kMostText);
    }
  }

  bool holds(char condition, const State& state) const {
    const auto& messages = state.question->messages;
    switch (condition) {
      case 'l':
        return state.last();
      case 'f':
        return state.at == 0 || (state.at == 1 && messages[0].role == "system");
      case 'g':
        return state.question->generates;
      case 's':
        return messages[0].role == "system";
      case 't':
        return state.content().find("</think>") != std::string_view::npos;
      case 'b':
        return state.content().find_first_not_of(" \n\t") == std::string_view::npos;
      case 'a':  // an answer is the last message
        return messages.back().role == "assistant";
      default:
        if (std::isdigit(uint8_t(condition))) return messages.size() == size_t(condition - '0');
        return state.content().find(condition) != std::string_view::npos;
    }
  }

  void step(char op, char argument, State& state) const {
    const std::string_view content = state.content();
    std::string& text = state.out.text;
    const auto reasoning_end = [&] { return content.find("</think>"); };
    switch (op) {
      case 'c':
        text += content;
        break;
      case 's':
        text += stripped(content, policy::kWhiteSpace, policy::kWhiteSpace);
        break;
      case 'l':
        text += stripped(content, policy::kWhiteSpace, "");
        break;
      case 'r':
        text += stripped(content, "", policy::kWhiteSpace);
        break;
      case 'n':
        text += stripped(content, "\n", "\n");
        break;
      case 'a': {  // without its reasoning
        const size_t end = reasoning_end();
        text += end == std::string_view::npos ? content : stripped(content.substr(end + 8), "\n", "");
        break;
      }
      case 't': {  // the reasoning alone
        const size_t end = reasoning_end();
        const size_t begin = end == std::string_view::npos ? end : content.substr(0, end).rfind("<think>");
        if (end != std::string_view::npos && begin != std::string_view::npos)
          text += stripped(content.substr(begin + 7, end - begin - 7), "\n", "\n");
        break;
      }
      case 'o':
        text += state.role();
        break;
      case 'm':  // the system message, wherever it stands
        if (state.question->messages[0].role == "system") text += state.question->messages[0].content;
        break;
      case 'w':  // the last content
        text += state.question->messages.back().content;
        break;
      case 'x':
        state.out.error = parts_.size() > 5 ? std::string(parts_[5]) + "!" : "no";
        break;
      case 'd':
        text += std::string(text.substr(0, kMostText));
        break;
      case 'z':
        text.clear();
        break;
      case 'k':  // cut off at the end
        text.resize(text.size() - std::min(text.size(), size_t(uint8_t(argument) % 16)));
        break;
      case 'p':
        if (const size_t part = 5 + size_t(uint8_t(argument - '0')) % 32; part < parts_.size())
          text += parts_[part];
        break;
      default:
        text += op;
    }
  }

  static std::string_view stripped(std::string_view text, std::string_view left, std::string_view right) {
    return policy::trimmed(text, {std::string(left), std::string(right)});
  }

  std::vector<std::string_view> parts_;
  mutable Asked asked_;
};

}  // namespace temper::fuzz
