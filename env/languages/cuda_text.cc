#include "env/languages/cuda_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace temper::env {
namespace {

enum class Kind : uint8_t { kWord, kLiteral, kSign, kDirective };

struct Token {
  Kind kind;
  std::string_view text;  // of a sign, one character
  bool is(std::string_view other) const { return text == other && kind != Kind::kLiteral; }
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Tokens as a preprocessor sees them, a preprocessor line being one. What is legal, but nobody writes, is
// given up: lines that continue outside of preprocessor lines, digraphs, quotes that do not close.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::optional<std::vector<Token>> tokens() {
    std::vector<Token> tokens;
    bool line_begins = true;
    while (at_ < text_.size()) {
      const size_t begin = at_;
      if (skip_blanks_or_comment()) continue;
      if (peek() == '\n') {
        line_begins = true;
        ++at_;
        continue;
      }
      const Kind kind = line_begins && peek() == '#' ? directive() : token();
      if (odd_) return std::nullopt;
      tokens.push_back({kind, text_.substr(begin, at_ - begin)});
      line_begins = false;
    }
    if (odd_) return std::nullopt;
    return tokens;
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\n'; }
  void give_up() {
    odd_ = true;
    at_ = text_.size();
  }
  void go_past(size_t found, size_t length) {
    if (found == std::string_view::npos) return give_up();
    at_ = found + length;
  }

  bool skip_blanks_or_comment() {
    if (is_blank(peek())) return ++at_, true;
    if (peek() != '/') return false;
    if (peek(1) == '*') return go_past(text_.find("*/", at_ + 2), 2), true;
    if (peek(1) != '/') return false;
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    size_t last = end - 1;
    while (is_blank(text_[last])) --last;
    if (text_[last] == '\\') return give_up(), true;  // the next line is comment, too
    at_ = end;
    return true;
  }

  Kind directive() {
    while (peek() != '\n') {
      if (skip_blanks_or_comment()) continue;
      if (peek() == '\\') {
        size_t next = at_ + 1;
        while (next < text_.size() && is_blank(text_[next])) ++next;
        at_ = std::min(next + 1, text_.size());
      } else if (peek() == '"' || peek() == '\'' || is_word(peek())) {
        const char first = peek();
        const bool raw = token() == Kind::kLiteral && is_word(first) && !is_digit(first);
        if (raw) give_up();  // it may go on below the line
      } else {
        ++at_;
      }
    }
    return Kind::kDirective;
  }

  Kind token() {
    const char c = peek();
    if (c == '"' || c == '\'') return quoted(c);
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (is_word(c)) return word();
    for (const std::string_view two : {"<%", "%>", "%:"})
      if (c == two[0] && peek(1) == two[1]) give_up();
    if (c == '\\' || (c >= 0 && c < ' ')) give_up();
    if (!odd_) ++at_;
    return Kind::kSign;
  }

  Kind quoted(char quote) {
    for (++at_; peek() != quote; ++at_) {
      if (peek() == '\\') ++at_;
      if (peek() == '\n' || peek() == '\r') return give_up(), Kind::kLiteral;
    }
    ++at_;
    return Kind::kLiteral;
  }

  Kind number() {
    for (;; ++at_) {
      const char c = peek();
      const bool exponent =
          (c == '+' || c == '-') && std::string_view("eEpP").find(text_[at_ - 1]) != std::string_view::npos;
      if (!is_word(c) && c != '.' && !exponent && !(c == '\'' && is_word(peek(1)))) return Kind::kLiteral;
    }
  }

  Kind word() {
    const size_t begin = at_;
    while (is_word(peek())) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    const bool raw = word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R";
    return raw && peek() == '"' ? raw_string() : Kind::kWord;
  }

  Kind raw_string() {
    const size_t open = text_.find('(', at_);
    if (open == std::string_view::npos || open - at_ > 17) return give_up(), Kind::kLiteral;
    const std::string end = fmt::format("){}\"", text_.substr(at_ + 1, open - at_ - 1));
    go_past(text_.find(end, open), end.size());
    return Kind::kLiteral;
  }

  std::string_view text_;
  size_t at_ = 0;
  bool odd_ = false;
};

// The brace of the body, if tokens[global], "__global__", begins a definition; else 0.
size_t body_of_kernel(const std::vector<Token>& tokens, size_t global) {
  int depth = 0;
  bool returns_nothing = false;
  for (size_t k = global + 1; k < tokens.size(); ++k) {
    const Token& token = tokens[k];
    if (token.kind == Kind::kDirective || token.is("__global__")) return 0;
    if (token.is("(")) ++depth;
    if (token.is(")")) --depth;
    if (depth != 0) continue;
    if (token.is("void")) returns_nothing = true;
    if (token.is("{")) return returns_nothing && tokens[k - 1].is(")") ? k : 0;
    if (token.is(";") || token.is("}") || token.is("=")) return 0;
  }
  return 0;
}

// The brace that closes the one at `open`; the number of tokens: none does.
size_t closing_brace(const std::vector<Token>& tokens, size_t open) {
  int depth = 0;
  for (size_t k = open; k < tokens.size(); ++k) {
    if (tokens[k].is("{")) ++depth;
    if (tokens[k].is("}") && --depth == 0) return k;
  }
  return tokens.size();
}

// Whether it says nothing to who comes after the body.
bool only_unrolls(std::string_view directive) {
  const auto next_word = [&] {
    while (!directive.empty() && (is_blank(directive[0]) || directive[0] == '#')) directive.remove_prefix(1);
    const auto end = std::ranges::find_if_not(directive, is_word);
    const std::string_view word = directive.substr(0, size_t(end - directive.begin()));
    directive.remove_prefix(word.size());
    return word;
  };
  if (next_word() != "pragma") return false;
  const std::string_view what = next_word();
  return what == "unroll" || what == "nounroll";
}

bool may_go(const std::vector<Token>& tokens, size_t open, size_t close) {
  return std::all_of(tokens.begin() + std::ptrdiff_t(open), tokens.begin() + std::ptrdiff_t(close),
                     [](const Token& token) {
                       return token.kind == Kind::kDirective ? only_unrolls(token.text)
                                                             : !token.is("_Pragma") && !token.is("__pragma");
                     });
}

// What lies between their braces.
std::vector<std::string_view> bodies_of_kernels(const std::vector<Token>& tokens) {
  std::vector<std::string_view> bodies;
  int depth = 0;  // what a macro gets is no kernel yet
  for (size_t k = 0; k < tokens.size(); ++k) {
    if (tokens[k].is("(")) ++depth;
    if (tokens[k].is(")")) --depth;
    if (depth != 0 || !tokens[k].is("__global__")) continue;
    const size_t open = body_of_kernel(tokens, k);
    if (open == 0) continue;
    const size_t close = closing_brace(tokens, open);
    if (close == tokens.size()) return {};
    const char* const begin = tokens[open].text.data() + 1;
    if (may_go(tokens, open, close)) bodies.emplace_back(begin, size_t(tokens[close].text.data() - begin));
    k = close;
  }
  return bodies;
}

bool bodies_may_matter(const std::string& unit) {
  const auto has = [&](const char* word) { return unit.find(word) != std::string::npos; };
  return has("__COUNTER__") || has("__CUDA_ARCH") || has_extended_lambda(unit);
}

}  // namespace

bool has_extended_lambda(const std::string& source) {
  for (const char* word : {"__device__", "__host__"})
    for (size_t at = source.find(word); at != std::string::npos; at = source.find(word, at + 1)) {
      const size_t before = at == 0 ? std::string::npos : source.find_last_not_of(" \t\r\n", at - 1);
      if (before != std::string::npos && source[before] == ']') return true;
    }
  return false;
}

std::string host_text(const std::string& unit) {
  if (bodies_may_matter(unit)) return unit;
  const auto tokens = Lexer(unit).tokens();
  if (!tokens) return unit;
  const bool numbered = unit.find("__LINE__") != std::string::npos;
  std::string text;
  const char* from = unit.data();
  for (const std::string_view body : bodies_of_kernels(*tokens)) {
    text.append(from, body.data());
    if (numbered) text.append(size_t(std::ranges::count(body, '\n')), '\n');
    from = body.data() + body.size();
  }
  return text.append(from, unit.data() + unit.size());
}

}  // namespace temper::env
