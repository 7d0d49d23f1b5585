#include "env/task/size_expression.h"

#include <cctype>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace temper::env {
namespace {

class SizeParser {
 public:
  SizeParser(const std::string& text, const Shape& shape) : text_(text), shape_(shape) {}

  double whole() {
    const double value = sum();
    if (peek() != '\0') throw ConfigError("'{}': unexpected '{}'", text_, text_.substr(at_));
    return value;
  }

 private:
  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  double sum() {
    double value = product();
    for (char op = peek(); op == '+' || op == '-'; op = peek()) {
      ++at_;
      value += op == '+' ? product() : -product();
    }
    return value;
  }

  double product() {
    double value = factor();
    for (char op = peek(); op == '*' || op == '/'; op = peek()) {
      ++at_;
      value = op == '*' ? value * factor() : value / factor();
    }
    return value;
  }

  double factor() {
    const char c = peek();
    if (c == '(') return parenthesis();
    if (std::isdigit(static_cast<unsigned char>(c))) return number();
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') return dimension();
    throw ConfigError("'{}': expected a number or a dimension at '{}'", text_, text_.substr(at_));
  }

  double parenthesis() {
    if (++depth_ > 64) throw ConfigError("'{}': nested too deeply", text_);
    ++at_;
    const double value = sum();
    if (peek() != ')') throw ConfigError("'{}': missing ')'", text_);
    ++at_;
    --depth_;
    return value;
  }

  double number() {
    double value = 0;  // not by strtod, which asks the locale for the point
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range)
      throw ConfigError("'{}': a number too large or too small", text_);
    at_ = size_t(end - text_.data());
    return value;
  }

  double dimension() {
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    const std::string name = text_.substr(begin, at_ - begin);
    if (name == "sqrt" && peek() == '(') return std::sqrt(parenthesis());
    const auto it = shape_.find(name);
    if (it == shape_.end()) throw ConfigError("'{}': undefined dimension '{}'", text_, name);
    return double(it->second);
  }

  const std::string& text_;
  const Shape& shape_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

double evaluate_size(const std::string& expression, const Shape& shape) {
  return SizeParser(expression, shape).whole();
}

}  // namespace temper::env
