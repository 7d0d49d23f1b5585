#include "env/verdict/code_blocks.h"

#include <algorithm>
#include <array>
#include <optional>

namespace temper::env {
namespace {

constexpr std::string_view kOpensReasoning = "<think>", kClosesReasoning = "</think>";
constexpr std::string_view kSpace = " \t\r\n";
constexpr size_t kLeastFence = 3, kFurtherIndent = 3;
constexpr std::string_view kWide = "｀";  // a full-width `
// Byte order marks and characters without width.
constexpr std::array<std::string_view, 5> kInvisible = {"\xEF\xBB\xBF", "\xE2\x80\x8B", "\xE2\x80\x8C",
                                                        "\xE2\x80\x8D", "\xE2\x81\xA0"};
// What fences are called in answers. Behind an open block's fence any other word is prose.
constexpr std::array<std::string_view, 58> kKnownWords = {
    "asm",        "bash",       "bat",    "c",     "c++",      "cc",        "cmake",      "cmd",  "console",
    "cpp",        "csv",        "cu",     "cuda",  "cuda-cpp", "cuda_cpp",  "cuh",        "cxx",  "diff",
    "docker",     "dockerfile", "go",     "h",     "hpp",      "html",      "ini",        "java", "js",
    "javascript", "json",       "latex",  "log",   "make",     "makefile",  "markdown",   "math", "md",
    "mermaid",    "nvcc",       "output", "patch", "plain",    "plaintext", "powershell", "ptx",  "py",
    "python",     "python3",    "rust",   "sass",  "sh",       "shell",     "sql",        "text", "toml",
    "triton",     "txt",        "xml",    "yaml"};

bool is_markdown(std::string_view word) { return word == "markdown" || word == "md"; }

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  const size_t end = text.find_last_not_of(kSpace);
  return end == std::string_view::npos ? text.substr(text.size()) : text.substr(begin, end + 1 - begin);
}

// What stands in front of a line's first character that counts.
struct Lead {
  size_t bytes = 0, indent = 0;  // indent: characters of it, without those that cannot be seen
  bool quoted = false;
};

size_t invisible_at(std::string_view text) {
  for (const std::string_view one : kInvisible)
    if (text.starts_with(one)) return one.size();
  return 0;
}

// "- ", "* ", "+ ", "1. ", "12) ": bytes, or 0.
size_t list_marker(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view marks = digits == 0 ? "-*+" : ".)";
  const bool marked =
      digits < 10 && digits + 1 < text.size() && marks.find(text[digits]) != std::string_view::npos;
  return marked && (text[digits + 1] == ' ' || text[digits + 1] == '\t') ? digits + 2 : 0;
}

Lead lead_of(std::string_view line) {
  Lead lead;
  while (lead.bytes < line.size()) {
    const std::string_view rest = line.substr(lead.bytes);
    if (const size_t unseen = invisible_at(rest)) {
      lead.bytes += unseen;
    } else if (rest[0] == ' ' || rest[0] == '\t' || rest[0] == '>') {
      lead.quoted |= rest[0] == '>';
      ++lead.bytes, ++lead.indent;
    } else {
      break;
    }
  }
  return lead;
}

struct Fence {
  char mark = 0;
  size_t length = 0;
  Lead lead;
  std::string_view rest;  // of its line, trimmed
};

// The run of fence characters that a text begins with: how many, and their bytes.
std::pair<size_t, size_t> run_of(std::string_view text, char mark) {
  size_t length = 0, at = 0;
  for (; at < text.size(); ++length) {
    if (text[at] == mark)
      ++at;
    else if (mark == '`' && text.substr(at).starts_with(kWide))
      at += kWide.size();
    else
      break;
  }
  return {length, at};
}

std::optional<Fence> fence_at(std::string_view line, Lead lead) {
  for (const char mark : {'`', '~'}) {
    const auto [length, bytes] = run_of(line.substr(lead.bytes), mark);
    if (length >= kLeastFence) return Fence{mark, length, lead, trimmed(line.substr(lead.bytes + bytes))};
  }
  return std::nullopt;
}

// "```cpp title=…", "{.cpp .numberLines}", "C++": "cpp", "cpp", "c++".
std::string word_of(std::string_view rest) {
  while (!rest.empty() && (rest[0] == '{' || rest[0] == '.')) rest.remove_prefix(1);
  std::string word(rest.substr(0, rest.find_first_of(" \t,}:=({")));
  std::ranges::transform(word, word.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return word;
}

// Where the code of a block stands: in a comment over several lines, or in a Python text of three quotes.
class Commented {
 public:
  void read(std::string_view line) {
    for (size_t at = 0; at + 1 < line.size(); ++at) {
      const std::string_view two = line.substr(at, 2);
      if (c_) {
        if (two == "*/") c_ = false, ++at;
      } else if (python_) {
        if (line.substr(at).starts_with(python_)) python_ = nullptr, at += 2;
      } else if (two == "/*") {
        c_ = true, ++at;
      } else if (two == "//" || line[at] == '#') {
        return;
      } else if (line.substr(at).starts_with("\"\"\"") || line.substr(at).starts_with("'''")) {
        python_ = line[at] == '"' ? "\"\"\"" : "'''", at += 2;
      }
    }
  }
  bool inside() const { return c_ || python_ != nullptr; }

 private:
  bool c_ = false;
  const char* python_ = nullptr;
};

class Scanner {
 public:
  Scanner(std::string_view text, bool inside_reasoning, bool minds_comments)
      : text_(text), minds_comments_(minds_comments) {
    found_.reasoning = inside_reasoning;
  }

  CodeBlocks scan() {
    for (size_t at = 0; at < text_.size();) {
      const size_t newline = text_.find('\n', at);
      const size_t next = newline == std::string_view::npos ? text_.size() : newline + 1;
      read(at, next);
      at = next;
    }
    if (open_) end_block(text_.size(), text_.size(), false);
    return std::move(found_);
  }

  bool ended_in_comment() const { return ended_in_comment_; }

 private:
  void read(size_t at, size_t next) {
    const std::string_view line = text_.substr(at, next - at);
    if (found_.reasoning) {
      const size_t tag = line.rfind(kClosesReasoning);
      if (tag == std::string_view::npos) return;
      found_.reasoning = false;
      return read(at + tag + kClosesReasoning.size(), next);
    }
    if (open_)
      read_code(line, at, next);
    else
      read_prose(line, at, next);
  }

  // All that came before was reasoning.
  void forget(size_t at, size_t next) {
    found_.blocks.clear();
    open_ = false;
    read(at, next);
  }

  void read_prose(std::string_view line, size_t at, size_t next) {
    if (const size_t tag = line.rfind(kClosesReasoning); tag != std::string_view::npos)
      return forget(at + tag + kClosesReasoning.size(), next);
    Lead lead = lead_of(line);
    if (line.substr(lead.bytes).starts_with(kOpensReasoning)) {
      found_.reasoning = true;
      return;
    }
    if (const size_t marker = list_marker(line.substr(lead.bytes))) {
      Lead inner = lead_of(line.substr(lead.bytes + marker));
      inner.bytes += lead.bytes + marker, inner.indent += lead.indent + marker, inner.quoted |= lead.quoted;
      if (fence_at(line, inner)) lead = inner;
    }
    if (const auto fence = fence_at(line, lead)) {
      if (fence->mark == '~' || fence->rest.find('`') == std::string_view::npos) open(*fence, at, next);
    } else if (const auto behind = fence_behind_words(line)) {
      open(*behind, at, next);
    }
  }

  // "Here it is: ```cpp"
  static std::optional<Fence> fence_behind_words(std::string_view line) {
    const size_t begin = line.find("```");
    if (begin == std::string_view::npos) return std::nullopt;
    auto fence = fence_at(line, {.bytes = begin, .indent = 0, .quoted = false});
    const bool opens = fence && is_known_fence_word(word_of(fence->rest)) &&
                       fence->rest.find_first_of(" \t`") == std::string_view::npos;
    return opens ? fence : std::nullopt;
  }

  void open(const Fence& fence, size_t at, size_t next) {
    const std::string word = word_of(fence.rest);
    if (is_markdown(word)) return;
    fence_ = fence;
    comment_ = {};
    block_ = {at, text_.size(), next, text_.size(), fence.lead.indent, fence.lead.quoted, word, true};
    open_ = true;
  }

  void end_block(size_t code_end, size_t end, bool closed) {
    block_.code_end = code_end, block_.end = end, block_.closed = closed;
    ended_in_comment_ = !closed && comment_.inside();
    found_.blocks.push_back(std::move(block_));
    open_ = false;
  }

  void read_code(std::string_view line, size_t at, size_t next) {
    const Lead lead = lead_of(line);
    if (line.substr(lead.bytes).starts_with(kClosesReasoning))
      return forget(at + lead.bytes + kClosesReasoning.size(), next);
    const bool code = minds_comments_ && comment_.inside();
    const auto fence = code ? std::nullopt : fence_at(line, lead);
    if (fence && fence->mark == fence_.mark && fence->length >= fence_.length &&
        lead.indent <= fence_.lead.indent + kFurtherIndent) {
      if (fence->rest.empty()) return end_block(at, next, true);
      if (fence->mark == '~' || fence->rest.find('`') == std::string_view::npos) {
        if (!is_known_fence_word(word_of(fence->rest))) return end_block(at, next, true);
        end_block(at, at, false);
        return open(*fence, at, next);
      }
    }
    if (!code)
      if (const size_t glued = closing_behind_code(line); glued > 0) return end_block(at + glued, next, true);
    comment_.read(line);
  }

  // "}```": bytes of the code in front of a fence that ends its line; or 0.
  size_t closing_behind_code(std::string_view line) const {
    const std::string_view whole = trimmed(line);
    const size_t begin = line.find(fence_.mark);
    if (begin == std::string_view::npos || begin == 0 || whole.back() != fence_.mark) return 0;
    const auto [length, bytes] = run_of(line.substr(begin), fence_.mark);
    const bool last = trimmed(line.substr(begin + bytes)).empty();
    return last && length >= fence_.length &&
                   std::string_view("};)").find(line[begin - 1]) != std::string_view::npos
               ? begin
               : 0;
  }

  std::string_view text_;
  bool minds_comments_;
  CodeBlocks found_;
  bool open_ = false, ended_in_comment_ = false;
  Fence fence_;  // of the open block
  CodeBlock block_;
  Commented comment_;
};

}  // namespace

bool is_known_fence_word(std::string_view word) {
  return std::ranges::find(kKnownWords, word) != kKnownWords.end();
}

CodeBlocks find_code_blocks(std::string_view text, bool inside_reasoning) {
  Scanner scanner(text, inside_reasoning, true);
  CodeBlocks found = scanner.scan();
  // What looks like a comment that never ends may be none, such as a pattern in a text.
  return scanner.ended_in_comment() ? Scanner(text, inside_reasoning, false).scan() : found;
}

std::string code_of(std::string_view text, const CodeBlock& block) {
  const std::string_view code = text.substr(block.code_begin, block.code_end - block.code_begin);
  if (block.indent == 0) return std::string(code);
  const std::string_view removed = block.quoted ? " \t>" : " \t";
  std::string result;
  for (size_t at = 0; at < code.size();) {
    const size_t newline = code.find('\n', at);
    const size_t next = newline == std::string_view::npos ? code.size() : newline + 1;
    const std::string_view line = code.substr(at, next - at);
    result += line.substr(std::min({block.indent, line.find_first_not_of(removed), line.size()}));
    at = next;
  }
  return result;
}

}  // namespace temper::env
