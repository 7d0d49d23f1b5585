#include "rollout/traces/reference.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/error.h"

namespace temper::traces {
namespace {

using Kind = Expression::Kind;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

// Recursive descent over one expression.
class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  ExpressionPtr parse() {
    auto value = sum();
    if (peek() != '\0') fail();
    return value;
  }

 private:
  ExpressionPtr sum() {
    auto left = product();
    while (peek() == '+' || peek() == '-') {
      const std::string op(1, take());
      left = binary(op, left, product());
    }
    return left;
  }

  ExpressionPtr product() {
    auto left = factor();
    while (peek() == '*' || peek() == '/' || peek() == '@') {
      const std::string op(1, take());
      left = binary(op, left, factor());
    }
    return left;
  }

  ExpressionPtr factor() {
    if (peek() != '-') return postfix();
    take();
    auto operand = factor();
    if (operand->kind == Kind::kNumber) return number("-" + operand->text);
    return negated(operand);
  }

  ExpressionPtr postfix() {
    auto value = atom();
    for (;;) {
      if (peek() == '[') {
        value = index(value, subscripts());
      } else if (peek() == '.') {
        take();
        const std::string method = word();
        value = called(method, value);
      } else {
        return value;
      }
    }
  }

  ExpressionPtr atom() {
    if (peek() == '(') {
      take();
      auto inner = sum();
      expect(')');
      return inner;
    }
    if (peek() == '[') {  // a list of one: dimensions
      take();
      auto inner = sum();
      expect(']');
      return inner;
    }
    if (is_digit(peek())) return number(number_text());
    std::string function = word();
    if (function != "torch") return name(function);
    while (peek() == '.') {
      take();
      function = word();
    }
    return called(function, nullptr);
  }

  // A call with the arguments that follow; `self`: of the method, or none.
  ExpressionPtr called(const std::string& function, const ExpressionPtr& self) {
    std::vector<ExpressionPtr> values;
    if (self) values.push_back(self);
    bool keeps = false;
    expect('(');
    while (peek() != ')') {
      if (takes("keepdim=")) {
        keeps = word() == "True";
      } else {
        takes("dim=");
        values.push_back(sum());
      }
      if (peek() == ',') take();
    }
    take();
    if (function == "unsqueeze" && values.size() == 2) return with_dimension(values[0], values[1]->text);
    const auto result = call(function, std::move(values));
    return keeps ? with_dimension(result, result->children.back()->text) : result;
  }

  // A dimension of one element: before a row it changes nothing.
  static ExpressionPtr with_dimension(const ExpressionPtr& value, const std::string& dimension) {
    return dimension == "0" ? value : index(value, {":", "None"});
  }

  bool takes(const std::string& text) {
    peek();
    if (text_.compare(at_, text.size(), text) != 0) return false;
    at_ += text.size();
    return true;
  }

  std::vector<std::string> subscripts() {
    std::vector<std::string> items(1);
    expect('[');
    for (char c = take(); c != ']'; c = take()) {
      if (c == '\0') fail();
      if (c == ',')
        items.emplace_back();
      else if (c != ' ')
        items.back() += c;
    }
    return items;
  }

  std::string word() {
    peek();
    std::string taken;
    while (at_ < text_.size() && is_word(text_[at_])) taken += text_[at_++];
    if (taken.empty() || is_digit(taken[0])) fail();
    return taken;
  }

  std::string number_text() {
    std::string taken;
    while (at_ < text_.size() &&
           (is_word(text_[at_]) || text_[at_] == '.' || (text_[at_] == '-' && taken.back() == 'e'))) {
      taken += text_[at_++];
    }
    return taken;
  }

  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  char take() { return at_ < text_.size() ? text_[at_++] : '\0'; }
  void expect(char c) {
    if (peek() != c) fail();
    take();
  }
  [[noreturn]] void fail() const {
    throw ConfigError("the trace grammar cannot read '{}' at column {}", text_, at_ + 1);
  }

  const std::string& text_;
  size_t at_ = 0;
};

std::string source_of(const Expression& e);

std::string operand_source(const Expression& e, bool tight) {
  const bool wrap = e.kind == Kind::kBinary && (tight || e.text == "+" || e.text == "-");
  return wrap ? fmt::format("({})", source_of(e)) : source_of(e);
}

std::string binary_source(const Expression& e) {
  const bool additive = e.text == "+" || e.text == "-";
  const auto& left = *e.children[0];
  const auto& right = *e.children[1];
  const std::string left_source = additive ? source_of(left) : operand_source(left, false);
  const bool right_tight = !additive || right.is_binary("+") || right.is_binary("-");
  return left_source + " " + e.text + " " + (right_tight ? operand_source(right, true) : source_of(right));
}

std::string call_source(const Expression& e) {
  static const std::set<std::string> methods = {"sum", "mean", "amax", "amin", "t", "flip", "reshape"};
  std::vector<std::string> arguments;
  for (const auto& child : e.children) arguments.push_back(source_of(*child));
  if (methods.contains(e.text)) {
    arguments.erase(arguments.begin());
    return fmt::format("{}.{}({})", operand_source(*e.children[0], true), e.text, fmt::join(arguments, ", "));
  }
  static const std::set<std::string> functional = {"leaky_relu", "silu", "gelu", "softplus", "elu"};
  const char* module = functional.contains(e.text) ? "torch.nn.functional." : "torch.";
  return fmt::format("{}{}({})", module, e.text, fmt::join(arguments, ", "));
}

std::string source_of(const Expression& e) {
  switch (e.kind) {
    case Kind::kNumber:
    case Kind::kName:
      return e.text;
    case Kind::kNegate:
      return fmt::format("-{}", operand_source(*e.children[0], true));
    case Kind::kBinary:
      return binary_source(e);
    case Kind::kCall:
      return call_source(e);
    case Kind::kIndex:
      return fmt::format("{}[{}]", operand_source(*e.children[0], true), fmt::join(e.subscripts, ", "));
  }
  return "";
}

void collect(const Expression& e, const std::string& op, std::vector<std::string>& parts,
             const std::map<std::string, std::string>& names);

Expression spelled_out(const Expression& e) {
  if (e.is_call("square")) return *binary("*", e.children[0], e.children[0]);
  if (e.is_call("silu")) return *binary("*", e.children[0], call("sigmoid", e.children));
  return e;
}

std::string canonical(const Expression& as_written, const std::map<std::string, std::string>& names) {
  const Expression e = spelled_out(as_written);
  if (e.kind == Kind::kName && names.contains(e.text)) return names.at(e.text);
  std::vector<std::string> parts;
  const bool commutes = e.is_binary("+") || e.is_binary("*");
  if (commutes)
    collect(e, e.text, parts, names);
  else
    for (const auto& child : e.children) parts.push_back(canonical(*child, names));
  if (commutes || e.is_call("maximum") || e.is_call("minimum")) std::sort(parts.begin(), parts.end());
  return fmt::format("{}({}){}", e.text, fmt::join(parts, ","), fmt::join(e.subscripts, ","));
}

void collect(const Expression& e, const std::string& op, std::vector<std::string>& parts,
             const std::map<std::string, std::string>& names) {
  const Expression out = spelled_out(e);
  if (!out.is_binary(op)) return parts.push_back(canonical(out, names));
  for (const auto& child : out.children) collect(*child, op, parts, names);
}

std::string trimmed(const std::string& line) {
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

Statement parse_statement(const std::string& line) {
  if (line.starts_with("return ")) return {"", Parser(line.substr(7)).parse()};
  const size_t equals = line.find(" = ");
  if (equals == std::string::npos || !std::all_of(line.begin(), line.begin() + long(equals), is_word)) {
    throw ConfigError("the trace grammar cannot read '{}'", line);
  }
  return {line.substr(0, equals), Parser(line.substr(equals + 3)).parse()};
}

}  // namespace

ExpressionPtr number(const std::string& text) {
  return std::make_shared<Expression>(Expression{Kind::kNumber, text, {}, {}});
}
ExpressionPtr name(const std::string& text) {
  return std::make_shared<Expression>(Expression{Kind::kName, text, {}, {}});
}
ExpressionPtr negated(ExpressionPtr value) {
  return std::make_shared<Expression>(Expression{Kind::kNegate, "-", {std::move(value)}, {}});
}

ExpressionPtr binary(const std::string& op, ExpressionPtr left, ExpressionPtr right) {
  return std::make_shared<Expression>(Expression{Kind::kBinary, op, {std::move(left), std::move(right)}, {}});
}
ExpressionPtr call(const std::string& function, std::vector<ExpressionPtr> arguments) {
  return std::make_shared<Expression>(Expression{Kind::kCall, function, std::move(arguments), {}});
}
ExpressionPtr index(ExpressionPtr value, std::vector<std::string> subscripts) {
  return std::make_shared<Expression>(
      Expression{Kind::kIndex, "", {std::move(value)}, std::move(subscripts)});
}
ExpressionPtr with_children(const Expression& node, std::vector<ExpressionPtr> children) {
  return std::make_shared<Expression>(Expression{node.kind, node.text, std::move(children), node.subscripts});
}

bool any_part(const Expression& e, const std::function<bool(const Expression&)>& holds) {
  return holds(e) || std::any_of(e.children.begin(), e.children.end(),
                                 [&](const auto& c) { return any_part(*c, holds); });
}

ExpressionPtr replaced(const ExpressionPtr& e, const std::function<bool(const ExpressionPtr&)>& wanted,
                       const ExpressionPtr& by) {
  if (wanted(e)) return by;
  auto children = e->children;
  for (auto& child : children) child = replaced(child, wanted, by);
  return with_children(*e, std::move(children));
}

void collect_names(const Expression& e, std::vector<std::string>& names) {
  const auto add = [&](const std::string& text) {
    if (std::find(names.begin(), names.end(), text) == names.end()) names.push_back(text);
  };
  for (const auto& child : e.children) collect_names(*child, names);
  if (e.kind == Kind::kName) add(e.text);
  for (const auto& item : e.subscripts) add(item);
}

std::vector<Statement> parse_reference(const std::string& source) {
  std::vector<Statement> statements;
  for (size_t at = 0; at < source.size();) {
    const size_t end = std::min(source.find('\n', at), source.size());
    const std::string line = trimmed(source.substr(at, end - at));
    if (!line.empty() && !line.starts_with("def ") && !line.starts_with("#")) {
      statements.push_back(parse_statement(line));
    }
    at = end + 1;
  }
  if (statements.empty() || !statements.back().name.empty()) {
    throw ConfigError("the trace grammar misses a return in '{}'", source);
  }
  return statements;
}

std::string reference_source(const std::vector<Statement>& statements,
                             const std::vector<std::string>& inputs) {
  std::string source = fmt::format("def reference({}):\n", fmt::join(inputs, ", "));
  for (const auto& [target, value] : statements) {
    source += fmt::format("    {}{}\n", target.empty() ? "return " : target + " = ", source_of(*value));
  }
  return source;
}

std::string canonical_reference(const std::string& source, std::map<std::string, std::string> names) {
  std::string last;
  for (const auto& [target, value] : parse_reference(source)) {
    last = canonical(*value, names);
    if (!target.empty()) names[target] = last;
  }
  return last;
}

}  // namespace temper::traces
