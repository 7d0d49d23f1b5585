#pragma once
// The subset of PyTorch that the trace grammar reads: a task's reference as a list of expressions.
//
//   s = (x * x).mean(1)                          Statement{"s", call mean(x * x, 1)}
//   return x * torch.rsqrt(s + 1e-5)[:, None]    Statement{"", …}
//
// torch.relu(x), x.relu() and torch.nn.functional.relu(x) are the same call; s.unsqueeze(1) is s[:, None],
// and so is a reduction with keepdim=True along the last dimension.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace temper::traces {

struct Expression;
using ExpressionPtr = std::shared_ptr<const Expression>;

struct Expression {
  enum class Kind { kNumber, kName, kNegate, kBinary, kCall, kIndex };
  Kind kind;
  std::string text;                     // the number, name, operator (+ - * / @) or function
  std::vector<ExpressionPtr> children;  // operands, arguments, or what is indexed
  std::vector<std::string> subscripts;  // kIndex: "1:-1", "None", "r", …

  bool is_call(const std::string& name) const { return kind == Kind::kCall && text == name; }
  bool is_binary(const std::string& op) const { return kind == Kind::kBinary && text == op; }
  bool is_name() const { return kind == Kind::kName; }
  bool is_square() const {  // square(v), or v * v of a name
    return is_call("square") || (is_binary("*") && children[0]->is_name() && children[1]->is_name() &&
                                 children[0]->text == children[1]->text);
  }
};

ExpressionPtr number(const std::string& text);
ExpressionPtr name(const std::string& text);
ExpressionPtr negated(ExpressionPtr value);
ExpressionPtr binary(const std::string& op, ExpressionPtr left, ExpressionPtr right);
ExpressionPtr call(const std::string& function, std::vector<ExpressionPtr> arguments);
ExpressionPtr index(ExpressionPtr value, std::vector<std::string> subscripts);

// A copy of the node with other children.
ExpressionPtr with_children(const Expression& node, std::vector<ExpressionPtr> children);

// Whether `holds` is true for the expression or any part of it.
bool any_part(const Expression& e, const std::function<bool(const Expression&)>& holds);
// `by` wherever `wanted` holds.
ExpressionPtr replaced(const ExpressionPtr& e, const std::function<bool(const ExpressionPtr&)>& wanted,
                       const ExpressionPtr& by);
// Adds each name once, those in subscripts, too.
void collect_names(const Expression& e, std::vector<std::string>& names);

struct Statement {
  std::string name;  // empty: the returned value
  ExpressionPtr value;
};

// Errors: ConfigError naming what is outside the subset.
std::vector<Statement> parse_reference(const std::string& source);

// PyTorch source of `reference` again; parses back to the same statements.
std::string reference_source(const std::vector<Statement>& statements,
                             const std::vector<std::string>& inputs);

// Equal for references that differ in spelling, names of intermediates or the order of factors and summands;
// `names`: what inputs are called instead.
std::string canonical_reference(const std::string& source, std::map<std::string, std::string> names = {});

}  // namespace temper::traces
