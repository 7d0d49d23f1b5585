#include "rollout/traces/formula.h"

#include <fmt/format.h>

namespace temper::traces {
namespace {

constexpr double kSmooth = 0.35;  // on GPUs: of functions, those with exponentials; of the others, formulas

ExpressionPtr plain(const ExpressionPtr& value, Rng& rng) {
  switch (rng.below(6)) {
    case 0:
      return call("relu", {value});
    case 1:
      return call("abs", {value});
    case 2:
      return call("square", {value});
    case 3:
      return call("clamp", {value, number("-1"), number("1")});
    case 4:
      return call("clamp", {value, number("0"), number("1")});
    default:
      return call("leaky_relu", {value, number("0.1")});
  }
}

ExpressionPtr smooth(const ExpressionPtr& value, Rng& rng) {
  static constexpr const char* kNames[] = {"gelu", "sigmoid", "silu", "tanh"};
  return call(kNames[rng.below(4)], {value});
}

ExpressionPtr with_number(const ExpressionPtr& value, Rng& rng) {
  const char* op = rng.below(3) ? "*" : "+";
  return binary(op, value, number(some_number(rng)));
}

// v * f(v) and v * f(1.7 * v): the value opens and closes its own gate.
ExpressionPtr gated(const ExpressionPtr& value, Rng& rng) {
  const auto inner = rng.below(2) ? value : binary("*", value, number(some_number(rng)));
  return binary("*", value, rng.below(3) ? smooth(inner, rng) : plain(inner, rng));
}

// c * v * v, v * v * v * c + v, …
ExpressionPtr polynomial(const ExpressionPtr& value, Rng& rng) {
  auto power = binary("*", value, value);
  if (rng.below(2)) power = binary("*", power, value);
  const auto term = binary("*", power, number(some_number(rng)));
  return rng.below(3) ? binary("+", value, term) : term;
}

ExpressionPtr formula(const ExpressionPtr& value, Repertoire repertoire, Rng& rng) {
  const bool named = value->is_name();  // else it would stand there several times
  switch (rng.below(9)) {
    case 0:
      return call("exp", {negated(call("square", {value}))});
    case 1:
      return call("exp", {negated(call("abs", {value}))});
    case 2:
      return call("log1p", {call("abs", {value})});
    case 3:
      return call("softplus", {value});
    case 4:
      return binary("-", number("1"), value);
    case 5:
      return named ? gated(value, rng) : with_number(value, rng);
    case 6:
      return named && repertoire.powers ? polynomial(value, rng) : with_number(value, rng);
    default:
      return with_number(value, rng);
  }
}

}  // namespace

ExpressionPtr function_of(const ExpressionPtr& value, Repertoire repertoire, Rng& rng) {
  if (repertoire.on_gpu && rng.uniform() < kSmooth) return smooth(value, rng);
  if (repertoire.on_gpu && rng.uniform() < kSmooth) return formula(value, repertoire, rng);
  return plain(value, rng);
}

std::string some_number(Rng& rng) {
  const double value = 0.1 + 1.9 * rng.uniform();
  const uint64_t kind = rng.below(8);
  if (kind == 0) return fmt::format("{:.{}f}", value, 4 + rng.below(7));
  if (kind == 1) return fmt::format("{:.{}f}", value / 10, 3 + rng.below(4));
  return fmt::format("{:.{}f}", value, 1 + rng.below(3));
}

}  // namespace temper::traces
