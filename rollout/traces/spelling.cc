#include "rollout/traces/spelling.h"

#include "rollout/traces/reference.h"

namespace temper::traces {
namespace {

constexpr double kSwap = 0.3, kOtherWord = 0.4;

// What keeps a root from zero stays where everyone writes it.
bool is_offset(const Expression& e) {
  return e.kind == Expression::Kind::kNumber && e.text.starts_with("1e-");
}

ExpressionPtr other_word(const ExpressionPtr& e) {
  const auto& first = e->children[0];
  if (e->is_call("square") && first->is_name()) return binary("*", first, first);
  if (e->is_call("silu") && first->is_name()) return binary("*", first, call("sigmoid", {first}));
  return e->is_square() ? call("square", {first}) : e;
}

ExpressionPtr respelled(const ExpressionPtr& e, Rng& rng) {
  if (e->children.empty()) return e;
  auto children = e->children;
  for (auto& child : children) child = respelled(child, rng);
  const bool commutes = e->is_binary("+") || e->is_binary("*");
  if (commutes && !is_offset(*children[1]) && rng.uniform() < kSwap) std::swap(children[0], children[1]);
  const auto same = with_children(*e, std::move(children));
  return rng.uniform() < kOtherWord ? other_word(same) : same;
}

}  // namespace

env::Task respelled(env::Task task, Rng& rng) {
  auto statements = parse_reference(task.reference);
  for (auto& statement : statements) statement.value = respelled(statement.value, rng);
  std::vector<std::string> names;
  for (const auto& input : task.inputs) names.push_back(input.name);
  task.reference = reference_source(statements, names);
  return task;
}

}  // namespace temper::traces
