#include "env/answer.h"

#include <vector>

namespace temper {
namespace {

struct Block {
  size_t begin = 0, end = 0;  // fences included
  std::string_view code;
};

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool opens_fence(std::string_view line) {
  return line.starts_with("```") && trimmed(line.substr(3)).find_first_of(" \t`") == std::string_view::npos;
}

// The blocks in order; `unclosed` says whether the last one was left open.
std::vector<Block> find_blocks(std::string_view answer, bool& unclosed) {
  std::vector<Block> blocks;
  unclosed = false;
  size_t code_begin = 0;
  for (size_t at = 0; at < answer.size();) {
    const size_t newline = answer.find('\n', at);
    const size_t next = newline == std::string_view::npos ? answer.size() : newline + 1;
    const std::string_view line = answer.substr(at, next - at);
    if (unclosed && trimmed(line) == "```") {
      blocks.back().end = next;
      blocks.back().code = answer.substr(code_begin, at - code_begin);
      unclosed = false;
    } else if (!unclosed && opens_fence(line)) {
      blocks.push_back({at, answer.size(), {}});
      code_begin = next;
      unclosed = true;
    }
    at = next;
  }
  return blocks;
}

Answer refused(const char* reason) {
  Answer answer;
  answer.reason = reason;
  return answer;
}

}  // namespace

Answer extract_code(std::string_view text) {
  bool unclosed = false;
  const auto blocks = find_blocks(text, unclosed);
  if (blocks.empty()) return refused("no_code_block");
  if (unclosed) return refused("unclosed_code_block");
  for (const auto& block : blocks) {
    if (block.code != blocks.back().code) return refused("two_code_blocks");
  }
  const Block& last = blocks.back();
  if (trimmed(last.code).empty()) return refused("empty_code_block");
  return {true, "", std::string(last.code), last.begin, last.end};
}

}  // namespace temper
