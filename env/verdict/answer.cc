#include "env/verdict/answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "env/languages/language.h"
#include "env/verdict/code_blocks.h"
#include "env/verdict/definition.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

std::string_view inner_text(std::string_view text, const CodeBlock& block) {
  return text.substr(block.code_begin, block.code_end - block.code_begin);
}

// A block whose fence says nothing, or what is no language, may be in any.
bool may_be_in(const Language& language, const CodeBlock& block) {
  if (block.word.empty() || std::ranges::find(language.fence_words, block.word) != language.fence_words.end())
    return true;
  return !is_known_fence_word(block.word);
}

struct Choice {
  size_t number = 0;
  bool defines = false;  // the entry point
};

// The block that is the answer: one that defines the entry point where there is one, else the last.
Choice choose(std::string_view text, const std::vector<CodeBlock>& blocks, const Language* language) {
  Choice choice{blocks.size() - 1, false};
  if (language == nullptr) return choice;
  for (size_t i = blocks.size(); i-- > 0;) {
    if (!defines(inner_text(text, blocks[i]), *language)) continue;
    if (may_be_in(*language, blocks[i])) return {i, true};
    if (!choice.defines) choice = {i, true};
  }
  return choice;
}

Answer refused(const char* reason) {
  Answer answer;
  answer.reason = reason;
  return answer;
}

}  // namespace

Answer extract_code(std::string_view text, const std::string& name, bool inside_reasoning) {
  const Language* language = name.empty() ? nullptr : &find_language(name);
  CodeBlocks found = find_code_blocks(text, inside_reasoning);
  if (found.reasoning) return refused("unclosed_reasoning");
  if (found.blocks.empty()) return refused("no_code_block");
  const CodeBlock last = found.blocks.back();
  std::erase_if(found.blocks, [&](const CodeBlock& block) { return is_blank(inner_text(text, block)); });
  const bool last_is_empty = is_blank(inner_text(text, last));
  if (found.blocks.empty()) return refused(last.closed ? "empty_code_block" : "unclosed_code_block");
  const auto [number, defined] = choose(text, found.blocks, language);
  const CodeBlock& block = found.blocks[number];
  // What begins behind it and has no code is nothing, unless the answer may have gone on there.
  if (!defined && (!last.closed || last_is_empty))
    return refused(last.closed ? "empty_code_block" : "unclosed_code_block");
  return {true,      "",         code_of(text, block), block.begin,
          block.end, number + 1, found.blocks.size(),  block.closed};
}

std::string block_words(const Answer& answer) {
  if (!answer.ok || (answer.closed && answer.block == answer.blocks)) return "";
  if (!answer.closed) return fmt::format("code block {}, which is not closed", answer.block);
  return fmt::format("code block {} of {}", answer.block, answer.blocks);
}

Verdict about_block(Verdict verdict, const std::string& words) {
  if (words.empty()) return verdict;
  const std::string message = verdict.message.empty() ? verdict_message(verdict) : verdict.message;
  verdict.message = fmt::format("{}: {}", words, message).substr(0, kMaxMessageBytes);
  return verdict;
}

}  // namespace temper::env
