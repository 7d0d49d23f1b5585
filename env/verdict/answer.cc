#include "env/verdict/answer.h"

#include <algorithm>
#include <optional>

namespace temper::env {
namespace {

constexpr std::string_view kOpensReasoning = "<think>", kClosesReasoning = "</think>";
constexpr size_t kMostIndent = 3, kLeastFence = 3;

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

struct Fence {
  char mark = 0;
  size_t length = 0, indent = 0;
  std::string_view rest;  // of its line
};

// The fence that a line begins with, if it does.
std::optional<Fence> fence_of(std::string_view line) {
  const size_t indent = indent_of(line);
  if (indent > kMostIndent || indent == line.size()) return std::nullopt;
  const char mark = line[indent];
  if (mark != '`' && mark != '~') return std::nullopt;
  const size_t end = std::min(line.find_first_not_of(mark, indent), line.size());
  if (end - indent < kLeastFence) return std::nullopt;
  return Fence{mark, end - indent, indent, line.substr(end)};
}

bool opens(const Fence& fence) { return fence.mark == '~' || fence.rest.find('`') == std::string_view::npos; }

bool closes(const Fence& fence, const Fence& opening) {
  return fence.mark == opening.mark && fence.length >= opening.length && is_blank(fence.rest);
}

struct Block {
  Fence opening;
  size_t begin = 0, end = 0;            // fences included
  size_t code_begin = 0, code_end = 0;  // without them
};

struct Scan {
  std::optional<Block> last;
  bool unclosed = false;   // the last block is
  bool reasoning = false;  // <think> outside a block
};

// The last block from `at` on.
Scan scan_lines(std::string_view text, size_t at) {
  Scan scan;
  while (at < text.size()) {
    const size_t newline = text.find('\n', at);
    const size_t next = newline == std::string_view::npos ? text.size() : newline + 1;
    const std::string_view line = text.substr(at, next - at);
    const auto fence = fence_of(line);
    if (!scan.unclosed && fence && opens(*fence)) {
      scan.last = Block{*fence, at, text.size(), next, text.size()};
      scan.unclosed = true;
    } else if (scan.unclosed && fence && closes(*fence, scan.last->opening)) {
      scan.last->end = next;
      scan.last->code_end = at;
      scan.unclosed = false;
    } else if (!scan.unclosed && line.find(kOpensReasoning) != std::string_view::npos) {
      scan.reasoning = true;
      return scan;
    }
    at = next;
  }
  return scan;
}

// Removes from each line up to as many leading spaces as the fence had.
std::string without_indent(std::string_view code, size_t indent) {
  if (indent == 0) return std::string(code);
  std::string result;
  for (size_t at = 0; at < code.size();) {
    const size_t newline = code.find('\n', at);
    const size_t next = newline == std::string_view::npos ? code.size() : newline + 1;
    const std::string_view line = code.substr(at, next - at);
    result += line.substr(std::min(indent, indent_of(line)));
    at = next;
  }
  return result;
}

Answer refused(const char* reason) {
  Answer answer;
  answer.reason = reason;
  return answer;
}

}  // namespace

Answer extract_code(std::string_view text, bool inside_reasoning) {
  const size_t closed = text.rfind(kClosesReasoning);
  if (closed == std::string_view::npos && inside_reasoning) return refused("unclosed_reasoning");
  const size_t begin = closed == std::string_view::npos ? 0 : closed + kClosesReasoning.size();
  const Scan scan = scan_lines(text, begin);
  if (scan.reasoning) return refused("unclosed_reasoning");
  if (!scan.last) return refused("no_code_block");
  if (scan.unclosed) return refused("unclosed_code_block");
  const Block& block = *scan.last;
  const std::string_view code = text.substr(block.code_begin, block.code_end - block.code_begin);
  if (is_blank(code)) return refused("empty_code_block");
  return {true, "", without_indent(code, block.opening.indent), block.begin, block.end};
}

}  // namespace temper::env
