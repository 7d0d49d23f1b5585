#include "env/plan/kernel_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace temper::env {
namespace {

// Source: Itanium C++ ABI, 5.1 "External names": <source-name>, <template-args>, <expr-primary>.
class NameReader {
 public:
  explicit NameReader(std::string_view text) : text_(text) {}

  // _Z PART …, or _ZN PART+ E …, of which the last is the function's.
  std::string function() {
    if (!take("_Z")) return "";
    if (!take("N")) return part();
    std::string name;
    for (std::string next = part(); !next.empty(); next = part()) name = next;
    return name;
  }

 private:
  bool take(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  size_t number() {
    size_t value = 0;
    while (!text_.empty() && std::isdigit(static_cast<unsigned char>(text_[0])) && value < 100'000) {
      value = 10 * value + size_t(text_[0] - '0');
      text_.remove_prefix(1);
    }
    return value;
  }

  std::string part() {
    take("L");  // of internal linkage
    const std::string name = source_name();
    return name.empty() ? name : name + arguments();
  }

  std::string source_name() {
    const size_t size = number();
    if (size == 0 || size > text_.size()) return "";
    const std::string name(text_.substr(0, size));
    text_.remove_prefix(size);
    return name;
  }

  // "<256,float>"; "<…>" stands for what is not understood, and reading ends there.
  std::string arguments() {
    constexpr int kDeep = 4;
    if (!take("I") || depth_ == kDeep) return "";
    ++depth_;
    std::string list;
    while (!take("E")) {
      const std::string next = argument();
      list += (list.empty() ? "" : ",") + (next.empty() ? "..." : next);
      if (next.empty() || list.size() > kMaxKernelTitleBytes) {
        text_ = {};
        break;
      }
    }
    --depth_;
    return fmt::format("<{}>", list);
  }

  std::string argument() {
    if (take("L")) return literal();
    if (const std::string name = source_name(); !name.empty()) return name + arguments();
    return builtin();
  }

  std::string builtin() {
    constexpr std::pair<char, const char*> kTypes[] = {
        {'f', "float"}, {'d', "double"}, {'i', "int"},   {'j', "unsigned"}, {'l', "long"}, {'m', "size_t"},
        {'b', "bool"},  {'h', "uint8"},  {'s', "short"}, {'t', "uint16"},   {'c', "char"}, {'a', "int8"}};
    for (const auto& [letter, name] : kTypes)
      if (take(std::string_view(&letter, 1))) return name;
    return "";
  }

  // Li256E, Lin1E, Lb1E
  std::string literal() {
    const size_t end = text_.find('E');
    if (end == std::string_view::npos || builtin().empty()) return "";
    const bool negative = take("n");
    const size_t value = number();
    return take("E") ? fmt::format("{}{}", negative ? "-" : "", value) : "";
  }

  std::string_view text_;
  int depth_ = 0;
};

}  // namespace

std::string kernel_title(std::string_view mangled) {
  std::string title = NameReader(mangled).function();
  if (title.empty()) title = mangled;
  if (title.size() > kMaxKernelTitleBytes) title.resize(kMaxKernelTitleBytes);
  return title;
}

}  // namespace temper::env
