// What becomes of an expression where its loads lie beyond the end: whether a sum or maximum may count it.

#include <algorithm>
#include <set>

#include "rollout/traces/triton/writer.h"

namespace temper::traces {

using Kind = Expression::Kind;

// Whether the value is 0 where everything is that depends on the dimension `axis`.
bool TritonWriter::vanishes(const Expression& e, int axis) const {
  static const std::set<std::string> odd = {"abs",  "square", "relu",       "sqrt", "tanh", "silu",
                                            "gelu", "erf",    "leaky_relu", "sin",  "elu",  "log1p"};
  if (e.is_call("exp") && e.children[0]->is_binary("-")) return sinks(*e.children[0]->children[0]);
  if (beyond_ != "0.0") return false;
  const auto of = [&](size_t k) { return vanishes(*e.children[k], axis); };
  switch (e.kind) {
    case Kind::kName: {
      const auto alias = program.aliases.find(e.text);
      if (alias != program.aliases.end()) return vanishes(*alias->second, axis);
      const auto is_it = [&](const env::TensorSpec& input) { return input.name == e.text; };
      const auto input = std::ranges::find_if(program.task->inputs, is_it);
      return input != program.task->inputs.end() && (input->shape.size() == 2 || axis != 0);
    }
    case Kind::kIndex:
      return e.subscripts == Indices{":", "None"} && e.children[0]->is_name() && axis != 1 && of(0);
    case Kind::kNegate:
      return of(0);
    case Kind::kBinary:
      if (e.text == "*")
        return (of(0) && finite(*e.children[1], axis)) || (of(1) && finite(*e.children[0], axis));
      if (e.text == "/") return of(0) && finite(e, axis);
      return (e.text == "+" || e.text == "-") && of(0) && of(1);
    case Kind::kCall:
      if (e.text == "maximum" || e.text == "minimum") return of(0) && of(1);
      if (e.text == "clamp" && e.children.size() == 3)
        return of(0) && !e.children[1]->text.empty() && e.children[1]->kind != Kind::kCall &&
               (e.children[1]->kind == Kind::kNegate || e.children[1]->text.starts_with("-") ||
                e.children[1]->text == "0");
      return odd.contains(e.text) && of(0);
    default:
      return false;
  }
}

// Whether no zero there leads to an infinity.
bool TritonWriter::finite(const Expression& e, int axis) const {
  return !any_part(e, [&](const Expression& part) {
    const bool logarithm = part.is_call("log") || part.is_call("rsqrt");
    if (logarithm) return vanishes(*part.children[0], axis);
    if (part.is_name() && program.aliases.contains(part.text))
      return !finite(*program.aliases.at(part.text), axis);
    return part.is_binary("/") && vanishes(*part.children[1], axis);
  });
}

// Inputs beyond the end are -inf then.
bool TritonWriter::sinks(const Expression& e) const {
  if (beyond_ != "-float(\"inf\")") return false;
  if (e.is_binary("+")) return sinks(*e.children[0]) && sinks(*e.children[1]);
  if (const auto alias = program.aliases.find(e.text); e.is_name() && alias != program.aliases.end())
    return sinks(*alias->second);
  return e.is_name() &&
         std::ranges::any_of(program.task->inputs, [&](const auto& input) { return input.name == e.text; });
}

}  // namespace temper::traces
