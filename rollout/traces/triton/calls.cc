// Functions of a value as Triton has them.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "rollout/traces/element.h"

namespace temper::traces {

std::string ElementWriter::exponential(const std::string& value) const {
  if (!dialect_.spelled_out) return fmt::format("tl.exp({})", value);
  const bool sum = value.find(" + ") != value.npos || value.find(" - ") != value.npos;
  return fmt::format("tl.exp2({} * 1.4426950408889634)", sum ? "(" + value + ")" : value);
}

ElementWriter::Text ElementWriter::write_triton_call(const Expression& e, const Text& argument) {
  static const std::map<std::string, std::string> same = {
      {"abs", "tl.abs"}, {"sqrt", "tl.sqrt"}, {"rsqrt", "tl.rsqrt"}, {"log", "tl.log"},
      {"erf", "tl.erf"}, {"sin", "tl.sin"},   {"cos", "tl.cos"}};
  const auto& f = e.text;
  if (f == "exp") return {exponential(argument.text)};
  if (f == "log1p") return {fmt::format("tl.log(1 + {})", argument.text)};
  if (const auto it = same.find(f); it != same.end())
    return {fmt::format("{}({})", it->second, argument.text)};
  const bool nonfinite =
      std::ranges::any_of(program_.task->inputs, [](const auto& x) { return x.nonfinite; });
  if (f == "relu" && !nonfinite) return {fmt::format("tl.maximum({}, 0.0)", argument.text)};
  const std::string v = temporary(argument);
  if (f == "relu") return {fmt::format("tl.where({0} < 0, 0.0, {0})", v)};  // a NaN stays one
  if (f == "square") return {fmt::format("{0} * {0}", v), 1};
  if (f == "sigmoid" || f == "silu") {
    const std::string sign = hit(Defect::kSigmoidSign) ? "" : "-", of = f == "silu" ? v : "1";
    if (dialect_.spelled_out || sign.empty())
      return {fmt::format("{} / (1 + {})", of, exponential(sign + v)), 1};
    return f == "silu" ? Text{fmt::format("{0} * tl.sigmoid({0})", v), 1}
                       : Text{fmt::format("tl.sigmoid({})", v)};
  }
  if (f == "tanh") return {fmt::format("2 * tl.sigmoid(2 * {}) - 1", v), 2};
  if (f == "gelu") return {fmt::format("0.5 * {0} * (1 + tl.erf({0} * 0.7071067811865476))", v), 1};
  if (f == "softplus") return {fmt::format("tl.where({0} > 20, {0}, tl.log(1 + tl.exp({0})))", v)};
  if (f == "elu") return {fmt::format("tl.where({0} > 0, {0}, tl.exp({0}) - 1)", v)};
  if (f == "leaky_relu") {
    const bool preset = hit(Defect::kLeakySlope) || e.children.size() < 2;
    return {fmt::format("tl.where({0} > 0, {0}, {1} * {0})", v, preset ? "0.01" : constant(*e.children[1]))};
  }
  if (f == "clamp" && e.children.size() == 3) {
    const bool clamp_low = e.children[1]->text != "0" && hit(Defect::kClampLow);
    const std::string low = clamp_low ? "0" : constant(*e.children[1]), high = constant(*e.children[2]);
    return {fmt::format("tl.minimum(tl.maximum({}, {}), {})", v, low, high)};
  }
  throw ConfigError("the trace grammar does not write torch.{} so", f);
}

}  // namespace temper::traces
