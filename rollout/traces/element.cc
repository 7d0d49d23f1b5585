#include "rollout/traces/element.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace temper::traces {
namespace {

using Kind = Expression::Kind;
using At = std::vector<std::string>;

bool is_sum(const std::string& text) {
  return text.find(" + ") != text.npos || text.find(" - ") != text.npos;
}
std::string factor(const std::string& text) { return is_sum(text) ? "(" + text + ")" : text; }

std::string plus(const std::string& at, int offset) {
  return offset == 0 ? at : fmt::format("{} + {}", at, offset);
}

bool is_variable(const std::string& text) { return text.find_first_of(" [(.*") == std::string::npos; }

}  // namespace

std::string ElementWriter::value(const Expression& e, const At& at) { return write(e, at).text; }

std::string ElementWriter::variable(const Expression& e, const At& at) { return temporary(write(e, at)); }

std::vector<std::string> ElementWriter::take_statements() { return std::exchange(statements_, {}); }

bool ElementWriter::hit(Defect defect) {
  if (!defects_.test(size_t(defect))) return false;
  if (defect == Defect::kNoUnary || defect == Defect::kWrongOperator) defects_.reset(size_t(defect));  // once
  applied_ = true;
  return true;
}

std::string ElementWriter::temporary(const Text& value) {
  if (is_variable(value.text)) return value.text;
  const size_t number = temporaries_++;
  const auto& names = dialect_.temporaries;
  const std::string fresh =
      number < names.size() ? names[number] : fmt::format("{}{}", names[0], 10 + number);
  const bool typed = dialect_.kind != Dialect::Kind::kTriton;
  statements_.push_back(typed ? fmt::format("float {} = {};", fresh, value.text)
                              : fmt::format("{} = {}", fresh, value.text));
  return fresh;
}

std::string ElementWriter::constant(const Expression& number) const {
  const bool fraction = number.text.find_first_of(".e") != std::string::npos;
  return fraction && dialect_.kind != Dialect::Kind::kTriton ? number.text + "f" : number.text;
}

ElementWriter::Text ElementWriter::write(const Expression& e, At at) {
  const size_t rank = program_.dims(e).size();
  const bool bound = e.kind == Kind::kName && bound_.contains(e.text);
  const At whole = at;
  if (!bound && at.size() > rank) at.erase(at.begin(), at.end() - long(rank));
  switch (e.kind) {
    case Kind::kNumber:
      return {constant(e)};
    case Kind::kName: {
      const bool row_vector = !bound && rank == 1 && whole.size() == 2;
      return write_name(e, row_vector && hit(Defect::kBroadcastColumn) ? At{whole[0]} : at);
    }
    case Kind::kNegate: {
      const auto operand = write(*e.children[0], at);
      return {"-" + (operand.loose > 0 ? "(" + operand.text + ")" : operand.text), 1};
    }
    case Kind::kBinary:
      return write_binary(e, at);
    case Kind::kCall:
      return write_call(e, at);
    case Kind::kIndex:
      return write_index(e, at);
  }
  return {};
}

ElementWriter::Text ElementWriter::write_name(const Expression& e, const At& at) {
  if (const auto it = bound_.find(e.text); it != bound_.end()) {
    return {it->second, it->second.find(" / ") != std::string::npos && it->second.back() != ']' ? 1 : 0};
  }
  if (const auto it = program_.aliases.find(e.text); it != program_.aliases.end())
    return write(*it->second, at);
  for (const auto& input : program_.task->inputs) {
    if (input.name == e.text) return {input_element(input, at)};
  }
  throw ConfigError("the reference names '{}', which is not defined", e.text);
}

std::string ElementWriter::input_element(const env::TensorSpec& input, const At& at) {
  if (const auto text = dialect_.load ? dialect_.load(input, at) : ""; !text.empty()) return text;
  std::string offset = at[0];
  for (size_t k = 1; k < at.size(); ++k) {
    std::string length = input.shape[k];
    const auto& rows = input.shape[k - 1];
    const auto& output = program_.task->outputs[0].shape;
    const std::string wrong = length != output.back() && output.size() > 1 ? output.back() : rows;
    if (wrong != length && hit(Defect::kStride)) length = wrong;
    offset = fmt::format("{} * {} + {}", factor(offset), length, at[k]);
  }
  if (dialect_.read) return dialect_.read(input, offset, false);
  const auto text = fmt::format("{}[{}]", input.name, offset);
  return env::element_size(input.type) < 4 ? "float(" + text + ")" : text;
}

std::string ElementWriter::subscript(const std::string& item, const std::string& at,
                                     const std::string& other) {
  if (item == ":") return at;
  const size_t colon = item.find(':');
  if (colon == std::string::npos) {  // an index tensor
    const auto place = !other.empty() && hit(Defect::kGather) ? other : at;
    const auto is_it = [&](const env::TensorSpec& input) { return input.name == item; };
    const auto input = std::ranges::find_if(program_.task->inputs, is_it);
    if (dialect_.read && input != program_.task->inputs.end()) return dialect_.read(*input, place, true);
    return fmt::format("{}[{}]", item, place);
  }
  int offset = colon == 0 ? 0 : std::stoi(item.substr(0, colon));
  if (offset > 0 && hit(Defect::kOffset)) --offset;
  const size_t step = item.find(':', colon + 1);
  return plus(step == std::string::npos ? at : item.substr(step + 1) + " * " + at, offset);
}

ElementWriter::Text ElementWriter::write_index(const Expression& e, At at) {
  At inner;
  size_t k = 0;
  for (const auto& item : e.subscripts) {
    if (item == "None") {
      ++k;
      continue;
    }
    const std::string other = at.size() == 2 ? at[1 - k] : "";
    inner.push_back(subscript(item, at[k], other));
    ++k;
  }
  const bool broadcast_row = e.subscripts == At{":", "None"};
  const bool input = e.children[0]->kind == Kind::kName && !bound_.contains(e.children[0]->text);
  if (broadcast_row && input && hit(Defect::kBroadcastRow)) inner = {at[1]};
  inner.insert(inner.end(), at.begin() + long(k), at.end());
  return write(*e.children[0], inner);
}

ElementWriter::Text ElementWriter::write_matmul_factor(const Expression& e, const At& at) {
  const auto& l = dialect_.contracted;
  const auto left = write(*e.children[0], {at[0], l}), right = write(*e.children[1], {l, at[1]});
  return {left.text + " * " + right.text, 1};
}

ElementWriter::Text ElementWriter::write_binary(const Expression& e, const At& at) {
  if (e.text == "@") return write_matmul_factor(e, at);
  const auto& right_node = *e.children[1];
  const bool epsilon = right_node.kind == Kind::kNumber && right_node.text.starts_with("1e-");
  const auto left = write(*e.children[0], at);
  if (epsilon && hit(Defect::kNoEpsilon)) return left;
  const auto right = write(right_node, at);
  const bool inexact = e.text == "+" || e.text == "-" || e.text == "*";
  const bool wrong = inexact && !epsilon && hit(Defect::kWrongOperator);
  const std::string_view op = !wrong ? std::string_view(e.text) : e.text == "+" ? "-" : "+";
  const int loose = op == "+" || op == "-" ? 2 : 1;
  const bool wrap_left = left.loose > loose;
  const bool wrap_right = right.loose > loose || (right.loose == loose && op != "+") || right.text[0] == '-';
  return {fmt::format("{} {} {}", wrap_left ? "(" + left.text + ")" : left.text, op,
                      wrap_right ? "(" + right.text + ")" : right.text),
          loose};
}

ElementWriter::Text ElementWriter::write_call(const Expression& e, const At& at) {
  const auto& f = e.text;
  if (f == "t") return write(*e.children[0], hit(Defect::kTranspose) ? at : At{at[1], at[0]});
  if (f == "flip") {
    const auto length = program_.dims(*e.children[0]).at(1);
    return write(*e.children[0],
                 {at[0], hit(Defect::kFlip) ? length + " - " + at[1] : length + " - 1 - " + at[1]});
  }
  const auto argument = write(*e.children[0], at);
  if (dialect_.kind != Dialect::Kind::kCpp && (f == "maximum" || f == "minimum")) {
    const auto right = write(*e.children[1], at);
    const bool greater = f == "maximum", triton = dialect_.kind == Dialect::Kind::kTriton;
    return {fmt::format("{}({}, {})",
                        triton    ? "tl." + f
                        : greater ? "fmaxf"
                                  : "fminf",
                        argument.text, right.text)};
  }
  if (f == "maximum" || f == "minimum") {
    const std::string left = temporary(argument), right = temporary(write(*e.children[1], at));
    return {fmt::format("{0} {2} {1} ? {0} : {1}", left, right, f == "maximum" ? ">" : "<"), 3};
  }
  if (hit(Defect::kNoUnary)) return argument;
  if (dialect_.kind == Dialect::Kind::kCuda) return write_cuda_call(e, argument);
  if (dialect_.kind == Dialect::Kind::kTriton) return write_triton_call(e, argument);
  if (f == "abs") return {fmt::format("__builtin_fabsf({})", argument.text)};
  if (f == "sqrt") return {fmt::format("__builtin_sqrtf({})", argument.text)};
  if (f == "rsqrt") return {fmt::format("1 / __builtin_sqrtf({})", argument.text), 1};
  if (f == "exp") return {fmt::format("__builtin_expf({})", argument.text)};
  if (f == "log") return {fmt::format("__builtin_logf({})", argument.text)};
  if (f == "sigmoid") {
    const std::string v = temporary(argument);
    return {fmt::format("1 / (1 + __builtin_expf({}{}))", hit(Defect::kSigmoidSign) ? "" : "-", v), 1};
  }
  const std::string v = temporary(argument);
  if (f == "relu") return {fmt::format("{0} > 0 ? {0} : 0", v), 3};
  if (f == "square") return {fmt::format("{0} * {0}", v), 1};
  if (f == "leaky_relu") {
    const std::string slope = hit(Defect::kLeakySlope) ? "0.01f" : constant(*e.children[1]);
    return {fmt::format("{0} > 0 ? {0} : {1} * {0}", v, slope), 3};
  }
  if (f == "clamp") {
    const bool clamp_low = e.children[1]->text != "0" && hit(Defect::kClampLow);
    const std::string low = clamp_low ? "0" : constant(*e.children[1]), high = constant(*e.children[2]);
    return {fmt::format("{0} < {1} ? {1} : {0} > {2} ? {2} : {0}", v, low, high), 3};
  }
  throw ConfigError("the trace grammar does not know torch.{}", f);
}

ElementWriter::Text ElementWriter::write_cuda_call(const Expression& e, const Text& argument) {
  static const std::map<std::string, std::string> same = {
      {"abs", "fabsf"},  {"sqrt", "sqrtf"}, {"rsqrt", "rsqrtf"}, {"exp", "expf"}, {"log", "logf"},
      {"tanh", "tanhf"}, {"erf", "erff"},   {"sin", "sinf"},     {"cos", "cosf"}, {"log1p", "log1pf"}};
  const auto& f = e.text;
  if (const auto it = same.find(f); it != same.end())
    return {fmt::format("{}({})", it->second, argument.text)};
  const bool nonfinite =
      std::ranges::any_of(program_.task->inputs, [](const auto& x) { return x.nonfinite; });
  if (f == "relu" && !nonfinite) return {fmt::format("fmaxf({}, 0)", argument.text)};
  const std::string v = temporary(argument);
  const std::string minus = f == "sigmoid" || f == "silu" ? (hit(Defect::kSigmoidSign) ? "" : "-") : "";
  if (f == "relu") return {fmt::format("{0} < 0 ? 0 : {0}", v), 3};  // a NaN stays one
  if (f == "square") return {fmt::format("{0} * {0}", v), 1};
  if (f == "sigmoid") return {fmt::format("1 / (1 + expf({}{}))", minus, v), 1};
  if (f == "silu") return {fmt::format("{} / (1 + expf({}{}))", v, minus, v), 1};
  if (f == "gelu") return {fmt::format("{0} * normcdff({0})", v), 1};
  if (f == "softplus") return {fmt::format("{0} > 20 ? {0} : log1pf(expf({0}))", v), 3};
  if (f == "elu") return {fmt::format("{0} > 0 ? {0} : expm1f({0})", v), 3};
  if (f == "leaky_relu") {
    const std::string slope =
        hit(Defect::kLeakySlope) || e.children.size() < 2 ? "0.01f" : constant(*e.children[1]);
    return {fmt::format("{0} > 0 ? {0} : {1} * {0}", v, slope), 3};
  }
  if (f == "clamp" && e.children.size() == 3) {
    const bool clamp_low = e.children[1]->text != "0" && hit(Defect::kClampLow);
    const std::string low = clamp_low ? "0" : constant(*e.children[1]), high = constant(*e.children[2]);
    return {fmt::format("{0} < {1} ? {1} : {0} > {2} ? {2} : {0}", v, low, high), 3};
  }
  throw ConfigError("the trace grammar does not write torch.{} so", f);
}

}  // namespace temper::traces
