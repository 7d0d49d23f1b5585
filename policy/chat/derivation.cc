#include "policy/chat/derivation.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/input/printable.h"
#include "policy/chat/comparison.h"
#include "policy/chat/remembering_renderer.h"
#include "policy/chat/trials.h"

namespace temper::policy {
namespace {

using Messages = std::vector<ChatMessage>;

// A content of a probe, with the trim that it tells of.
struct Slot {
  std::string literal;  // in front of it
  std::string word;
  Trim* trim;
};

class Derivation {
 public:
  Derivation(const ChatTemplate& chat_template, const std::vector<std::string>& token_names,
             const ChatRenderer& renderer)
      : template_(chat_template), names_(token_names), renderer_(renderer) {
    choose_words();
  }

  ChatLayout derive() {
    layout_.name = "template";
    layout_.source = template_.digest();
    layout_.date = template_.date;
    turns();
    system();
    reasoning();
    trims();
    if (layout_.end_use == EndUse::kNever) layout_.rewrites.push_back(rewrites::kNoEnd);
    if (layout_.end_use == EndUse::kBetween) layout_.rewrites.push_back(rewrites::kNoLastEnd);
    renderer_.start_anew();
    try_all_kinds(layout_, template_, renderer_);
    return layout_;
  }

 private:
  // Words that the template does not hold.
  void choose_words() {
    std::string stem = "Qz";
    while (template_.text.find(stem) != std::string::npos) stem += "vq";
    for (std::string* word : {&s_, &u1_, &u2_, &u3_, &a1_, &a2_, &r_}) {
      last_ = char(last_ + 1);
      *word = stem + last_ + "x";
    }
  }

  ChatMessage user(const std::string& text) const { return {"user", text}; }
  ChatMessage answer(const std::string& text) const { return {"assistant", text}; }
  ChatMessage told(const std::string& text) const { return {"system", text}; }

  [[noreturn]] void refuse(const Messages& messages, const std::string& why) const {
    refuse_template(template_, messages, why);
  }

  // What stands between the words, one more than there are words; nothing where they do not stand there once each in this
  // order.
  static std::optional<std::vector<std::string>> cut(std::string_view text,
                                                     const std::vector<std::string>& words) {
    std::vector<std::string> parts;
    for (const std::string& word : words) {
      const size_t at = text.find(word);
      if (at == std::string_view::npos) return std::nullopt;
      parts.emplace_back(text.substr(0, at));
      text.remove_prefix(at + word.size());
    }
    parts.emplace_back(text);
    for (const std::string& part : parts)
      for (const std::string& word : words)
        if (part.find(word) != std::string::npos) return std::nullopt;
    return parts;
  }

  std::vector<std::string> parts_of(const ChatQuestion& question, const RenderedChat& rendered) const {
    if (!rendered.error.empty())
      refuse(question.messages, fmt::format("it says '{}'", printable(rendered.error, 300)));
    std::vector<std::string> words;
    for (const ChatMessage& message : question.messages) words.push_back(message.content);
    auto parts = cut(rendered.text, words);
    if (!parts)
      refuse(question.messages, fmt::format("it does not write each content once and in order, but '{}'",
                                            printable(rendered.text, 300)));
    return std::move(*parts);
  }

  void same(const Messages& messages, const std::string& what, const std::string& a,
            const std::string& b) const {
    if (a != b) refuse(messages, fmt::format("{} depends on what follows: {}", what, show_difference(a, b)));
  }

  // All that concerns users and answers alone.
  void turns() {
    const std::vector<ChatQuestion> asked = {
        {{user(u1_)}, true},
        {{user(u1_), answer(a1_)}, false},
        {{user(u1_), answer(a1_), user(u2_)}, true},
        {{user(u1_), answer(a1_), user(u2_), answer(a2_)}, false},
        {{user(u1_), answer(a1_), user(u2_), answer(a2_), user(u3_)}, true}};
    const auto rendered = renderer_.ask(template_, asked);
    std::vector<std::vector<std::string>> parts;
    for (size_t i = 0; i < asked.size(); ++i) parts.push_back(parts_of(asked[i], rendered[i]));
    for (size_t i = 1; i < asked.size(); ++i)
      same(asked[i].messages, "what stands before the first message", parts[i][0], parts[0][0]);
    for (const size_t i : {3, 4})
      same(asked[i].messages, "what stands between turns", parts[i][2], parts[2][2]);
    same(asked[3].messages, "what ends an answer", parts[3][4], parts[1][2]);
    take_ending(asked[1].messages, parts[1][2], parts[2][2]);
    layout_.first = {.before = parts[0][0],
                     .after = parts[0][1],
                     .told = parts[1][1],
                     .told_earlier = parts[2][1],
                     .reasoned = ""};
    layout_.further = {.before = parts[2][2].substr(end_between().size()),
                       .after = parts[2][3],
                       .told = parts[3][3],
                       .told_earlier = parts[4][3],
                       .reasoned = ""};
    layout_.first_with_system = layout_.first;
  }

  // The longest token in front that is no mark of reasoning; empty: there is none.
  std::string_view token_at(std::string_view text) const {
    std::string_view found;
    for (const std::string& name : names_)
      if (name != kThink && name != kEndThink && name.size() > found.size() && text.starts_with(name))
        found = name;
    return found;
  }

  // What the template itself writes behind an answer that another turn follows, and behind a last one.
  std::string end_between() const { return layout_.end_use == EndUse::kNever ? "" : layout_.answer_end; }
  std::string behind_last() const {
    return (layout_.end_use == EndUse::kWritten ? layout_.answer_end : "") + layout_.closing;
  }

  void take_ending(const Messages& messages, const std::string& last, const std::string& middle) {
    const std::string own = own_end();
    if (last.find_first_not_of(kWhiteSpace) != std::string::npos || own.empty()) {
      std::tie(layout_.answer_end, layout_.stop) = ending(messages, last, middle);
      layout_.closing = last.substr(layout_.answer_end.size());
      return;
    }
    if (last.empty() && middle.starts_with(own))
      layout_.end_use = EndUse::kBetween;
    else if (begins_as_a_turn(middle))
      layout_.end_use = EndUse::kNever;
    else
      no_ending(messages, last);
    layout_.answer_end = layout_.stop = own;
    layout_.closing = last;
  }

  // The token that ends texts, as the tokenizer says; empty: it has none.
  std::string own_end() const {
    const auto own = template_.tokens.find("eos_token");
    return own != template_.tokens.end() && std::ranges::count(names_, own->second) > 0 ? own->second : "";
  }

  // With no token in front that might be the end of an answer; that which begins texts is none.
  bool begins_as_a_turn(std::string_view middle) const {
    const size_t at = middle.find_first_not_of(kWhiteSpace);
    if (at == std::string_view::npos) return false;
    const auto begin = template_.tokens.find("bos_token");
    const std::string_view next = token_at(middle.substr(at));
    return next.empty() || (begin != template_.tokens.end() && next == begin->second);
  }

  [[noreturn]] void no_ending(const Messages& messages, const std::string& last) const {
    refuse(messages, fmt::format("no token of the tokenizer ends an answer, behind which stands '{}'",
                                 printable(last, 100)));
  }

  // Up to the token that ends an answer, which must be the same at the end of a conversation and in its middle: the
  // tokenizer's own end where it stands there; else the last token, where all that ends a conversation stands in its middle
  // too; else the first.
  std::pair<std::string, std::string> ending(const Messages& messages, const std::string& last,
                                             const std::string& middle) const {
    const auto own = template_.tokens.find("eos_token");
    const bool all_is_said = middle.starts_with(last.substr(0, last.find_last_not_of(" \n") + 1));
    size_t at = 0;
    std::string_view found;
    for (size_t i = 0; i < last.size();) {
      const std::string_view token = token_at(std::string_view(last).substr(i));
      const bool is_own = !token.empty() && own != template_.tokens.end() && token == own->second;
      const bool said_too = middle.starts_with(last.substr(0, i + token.size()));
      if (!token.empty() && (found.empty() || (said_too && (is_own || all_is_said)))) at = i, found = token;
      if (is_own && said_too) break;
      i += std::max<size_t>(token.size(), 1);
    }
    if (found.empty()) no_ending(messages, last);
    const std::string end = last.substr(0, at + found.size());
    if (!middle.starts_with(end))
      refuse(messages, fmt::format("it ends an answer otherwise where a turn follows: {}",
                                   show_difference(end, middle)));
    return {end, std::string(found)};
  }

  void no_system(std::string why) {
    layout_.limits.emplace(chat_limits::kSystem);
    layout_.limits.emplace(chat_limits::kEmptySystem);
    layout_.why = std::move(why);
  }

  void system() {
    const std::vector<ChatQuestion> asked = {{{told(s_), user(u1_)}, true},
                                             {{told(s_), user(u1_), answer(a1_)}, false},
                                             {{told(s_), user(u1_), answer(a1_), user(u2_)}, true}};
    const auto rendered = renderer_.ask(template_, asked);
    for (const size_t i : {0, 1})
      if (!rendered[i].error.empty())
        return no_system(fmt::format("it says '{}'", printable(rendered[i].error, 200)));
    const auto prompt = cut(rendered[0].text, {s_, u1_}), answered = cut(rendered[1].text, {s_, u1_, a1_});
    if (!prompt || (!answered && rendered[1].text.find(s_) != std::string::npos))
      return no_system(rendered[0].text.find(s_) == std::string::npos ? "it leaves a system message out"
                                                                      : "it does not write it in front");
    if (!answered) return system_of_prompt(*prompt);
    same(asked[1].messages, "what stands before the first message", (*answered)[0], (*prompt)[0]);
    same(asked[1].messages, "what stands before the first message", (*answered)[1], (*prompt)[1]);
    layout_.before_system = (*prompt)[0];
    UserTurn& turn = layout_.first_with_system;
    turn.before = (*prompt)[1];
    turn.after = (*prompt)[2];
    turn.told = (*answered)[2];
    if (!(*answered)[3].starts_with(behind_last().substr(0, layout_.answer_end.size())))
      refuse(asked[1].messages, "it ends an answer otherwise where there is a system message");
    // A template that moves the system's text writes its place as that of other turns.
    const auto longer = cut(rendered[2].text, {s_, u1_, a1_, u2_});
    if (longer && (*longer)[0] == layout_.before_system && (*longer)[1] == turn.before)
      turn.told_earlier = (*longer)[2];
  }

  // Where an answer follows, the template leaves out what the system says, and nobody is told how it would write it.
  void system_of_prompt(const std::vector<std::string>& prompt) {
    UserTurn& turn = layout_.first_with_system;  // as yet the first without one
    const bool alike = turn.told == turn.after && turn.told_earlier == turn.after;
    if (prompt[2] != turn.after && !alike)
      return no_system("it leaves a system message out where an answer follows");
    layout_.before_system = prompt[0];
    turn.before = prompt[1];
    if (alike) turn.after = turn.told = turn.told_earlier = prompt[2];
  }

  // Where the answer's reasoning stands, by an answer that is the last.
  void reasoning() {
    const std::string answered = fmt::format("{}\n{}\n{}\n\n{}", kThink, r_, kEndThink, a2_);
    std::vector<ChatQuestion> asked = {{{user(u1_), answer(answered)}, false},
                                       {{user(u1_), answer(a1_), user(u2_), answer(answered)}, false}};
    std::vector<UserTurn*> turns = {&layout_.first, &layout_.further};
    if (!layout_.limits.contains(std::string(chat_limits::kSystem))) {
      asked.push_back({{told(s_), user(u1_), answer(answered)}, false});
      turns.push_back(&layout_.first_with_system);
    }
    const auto rendered = renderer_.ask(template_, asked);
    std::optional<ChatLayout> before;  // the same wherever the answer stands
    for (size_t i = 0; i < asked.size(); ++i) {
      const bool known = reasoning_of(asked[i], rendered[i], *turns[i]);
      if (!known || (before && (layout_.reasoning != before->reasoning ||
                                layout_.behind_reasoning != before->behind_reasoning)))
        return void(layout_.limits.emplace(chat_limits::kReasoning));
      before = layout_;
    }
  }

  bool reasoning_of(const ChatQuestion& question, const RenderedChat& rendered, UserTurn& turn) {
    if (!rendered.error.empty()) return false;
    const std::string& before = question.messages[question.messages.size() - 2].content;
    const size_t user = rendered.text.find(before);
    if (user == std::string::npos) return false;
    const std::string_view tail = std::string_view(rendered.text).substr(user + before.size());
    const std::string& given = question.messages.back().content;
    const std::string end = behind_last();
    const auto written = cut(tail, {r_, a2_});
    if (tail == turn.told + given + end) {
      layout_.reasoning = ReasoningUse::kText;
    } else if (written && (*written)[2] == end) {
      layout_.reasoning = ReasoningUse::kWritten;
      turn.reasoned = (*written)[0];
      layout_.behind_reasoning = (*written)[1];
    } else if (const auto dropped = cut(tail, {a2_}); dropped && (*dropped)[1] == end) {
      layout_.reasoning = ReasoningUse::kDropped;
      const size_t open = turn.after.rfind(kThink);
      const bool marked = open != std::string::npos;
      const bool opened = marked && turn.after.find(kEndThink, open) == std::string::npos;
      // An opening that says that nothing was thought is none before what was.
      turn.reasoned = opened ? turn.after : (marked ? turn.told : turn.after) + "<think>\n";
      layout_.reasoning_trim = {"\n", "\n"};
      layout_.reasoned_answer_trim = {"\n", ""};
    } else {
      return false;
    }
    return true;
  }

  // The characters that are taken off each content, each asked alone, on each side alone.
  void trims() {
    std::vector<std::vector<Slot>> probes = slots();
    std::vector<ChatQuestion> asked;
    std::vector<std::pair<size_t, std::string>> of;  // probe, character
    for (const bool right : {false, true})
      for (std::string_view left = kWhiteSpace; !left.empty();) {
        size_t size = 1;
        while (size < left.size() && (uint8_t(left[size]) & 0xC0) == 0x80) ++size;
        for (size_t i = 0; i < probes.size(); ++i) {
          asked.push_back(probe(probes[i], left.substr(0, size), right));
          of.emplace_back(i, left.substr(0, size));
        }
        left.remove_prefix(size);
      }
    const auto rendered = renderer_.ask(template_, asked);
    for (size_t i = 0; i < asked.size(); ++i) {
      if (note_trims(rendered[i], probes[of[i].first], of[i].second, i >= asked.size() / 2)) continue;
      if (probes[of[i].first][0].trim)
        refuse(asked[i].messages, fmt::format("what it does to white space has no pattern: '{}'",
                                              printable(rendered[i].error + rendered[i].text, 300)));
      if (of[i].first == probes.size() - 1) continue;  // reasoning is not left out, or not alone
      layout_.limits.emplace(chat_limits::kReasoning);
    }
  }

  // In the order of probe().
  std::vector<std::vector<Slot>> slots() {
    ChatLayout& l = layout_;
    const std::string between = end_between() + l.further.before, end = behind_last();
    std::vector<std::vector<Slot>> probes;
    probes.push_back({{l.first.before, u1_, &l.first.trim},
                      {l.first.told_earlier, a1_, &l.earlier_answer_trim},
                      {between, u2_, &l.further.trim},
                      {l.further.told, a2_, &l.answer_trim},
                      {end, "", nullptr}});
    probes.push_back({{l.before_system, s_, &l.system_trim},
                      {l.first_with_system.before, u1_, &l.first_with_system.trim},
                      {l.first_with_system.after, "", nullptr}});
    probes.push_back({{l.first.before, u1_, nullptr},
                      {l.first.reasoned, r_, &l.reasoning_trim},
                      {l.behind_reasoning, a2_, &l.reasoned_answer_trim},
                      {end, "", nullptr}});
    probes.push_back({{l.first.before, u1_, nullptr},
                      {l.first.told_earlier, a2_, &l.dropped_trim},
                      {between, u2_, nullptr},
                      {l.further.after, "", nullptr}});
    if (l.reasoning != ReasoningUse::kWritten || l.limits.contains(std::string(chat_limits::kReasoning)))
      probes.erase(probes.end() - 2);
    if (l.limits.contains(std::string(chat_limits::kSystem))) probes.erase(probes.begin() + 1);
    return probes;
  }

  // The same conversations with the character at one end of each content.
  ChatQuestion probe(const std::vector<Slot>& slots, std::string_view space, bool right) const {
    const auto with = [&](const std::string& word) {
      return right ? fmt::format("{}{}", word, space) : fmt::format("{}{}", space, word);
    };
    const bool reasons = slots[0].trim == nullptr;
    if (!reasons && slots[0].word == s_) return {{told(with(s_)), user(with(u1_))}, true};
    if (!reasons) return {{user(with(u1_)), answer(with(a1_)), user(with(u2_)), answer(with(a2_))}, false};
    if (slots[1].word == r_)
      return {{user(u1_), answer(fmt::format("{}{}{}{}", kThink, with(r_), kEndThink, with(a2_)))}, false};
    return {{user(u1_), answer(fmt::format("{}{}{}{}", kThink, r_, kEndThink, with(a2_))), user(u2_)}, true};
  }

  // False where the text is not the literals, the words and in some places the character.
  static bool note_trims(const RenderedChat& rendered, const std::vector<Slot>& probe,
                         const std::string& space, bool right) {
    std::string_view text = rendered.text;
    const auto take = [&](const std::string& expected) {
      if (!text.starts_with(expected)) return false;
      text.remove_prefix(expected.size());
      return true;
    };
    if (!rendered.error.empty() || !take(probe[0].literal)) return false;
    for (size_t i = 0; i + 1 < probe.size(); ++i) {
      const Slot& slot = probe[i];
      const std::string& next = probe[i + 1].literal;
      bool kept = !slot.trim || right || take(space);
      if (!take(slot.word)) return false;
      if (right && slot.trim) {
        kept = text.starts_with(space + next);
        if (kept) take(space);
      }
      if (!take(next)) return false;
      std::string* side = !slot.trim ? nullptr : right ? &slot.trim->right : &slot.trim->left;
      if (side && !kept && side->find(space) == std::string::npos) *side += space;
    }
    return text.empty();
  }

  const ChatTemplate& template_;
  const std::vector<std::string>& names_;
  const ChatRenderer& renderer_;
  ChatLayout layout_;
  char last_ = 'f';
  std::string s_, u1_, u2_, u3_, a1_, a2_, r_;
};

}  // namespace

ChatLayout derive_layout(const ChatTemplate& chat_template, const std::vector<std::string>& token_names,
                         const ChatRenderer& renderer) {
  const RememberingRenderer remembering(renderer);
  ChatLayout layout = Derivation(chat_template, token_names, remembering).derive();
  compare_again(layout, chat_template, remembering.questions(), remembering.rendered(), renderer);
  return layout;
}

}  // namespace temper::policy
