#include "rollout/traces/generated.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/rng.h"
#include "rollout/traces/program.h"

namespace temper {
namespace {

using Kind = Expression::Kind;

constexpr double kChange = 0.6;  // of the places where something can be exchanged

// A function of one value in place of another.
ExpressionPtr exchanged_function(const Expression& e, Rng& rng) {
  auto value = e.children[0];
  switch (rng.below(5)) {
    case 0:
      return call("relu", {value});
    case 1:
      return call("abs", {value});
    case 2:
      return call("square", {value});
    case 3:
      return call("clamp", {value, number("-1"), number("1")});
    default:
      return call("leaky_relu", {value, number("0.1")});
  }
}

ExpressionPtr exchanged(const Expression& e, std::vector<ExpressionPtr> children, Rng& rng) {
  static const std::set<std::string> functions = {"relu", "abs", "square", "clamp", "leaky_relu"};
  static const std::vector<std::string> operators = {"+", "-", "*"},
                                        reductions = {"sum", "mean", "amax", "amin"},
                                        choices = {"maximum", "minimum"};
  const auto among = [&](const std::vector<std::string>& kind) { return kind[rng.below(kind.size())]; };
  const auto is_among = [&](const std::vector<std::string>& kind) {
    return std::find(kind.begin(), kind.end(), e.text) != kind.end();
  };
  const auto same = with_children(e, std::move(children));
  if (rng.uniform() > kChange) return same;
  if (e.kind == Kind::kBinary && is_among(operators))
    return binary(among(operators), same->children[0], same->children[1]);
  if (e.kind != Kind::kCall) return same;
  if (functions.contains(e.text)) return exchanged_function(*same, rng);
  if (is_among(reductions)) return call(among(reductions), same->children);
  if (is_among(choices)) return call(among(choices), same->children);
  return same;
}

ExpressionPtr mutated(const ExpressionPtr& e, Rng& rng) {
  std::vector<ExpressionPtr> children;
  for (const auto& child : e->children) children.push_back(mutated(child, rng));
  return exchanged(*e, std::move(children), rng);
}

// Quotients and roots are left alone: an exchanged operand may bring them near zero.
bool is_delicate(const Expression& e) {
  if (e.is_binary("/") || e.is_call("sqrt") || e.is_call("rsqrt")) return true;
  return std::any_of(e.children.begin(), e.children.end(), [](const auto& c) { return is_delicate(*c); });
}

bool is_delicate(const std::vector<Statement>& statements) {
  return std::any_of(statements.begin(), statements.end(),
                     [](const auto& s) { return is_delicate(*s.value); });
}

// What the grammar cannot read it cannot vary either.
bool readable(const Task& task) {
  try {
    lower(task);
    return !is_delicate(parse_reference(task.reference));
  } catch (const ConfigError&) {
    return false;
  }
}

std::string canonical_or_empty(const Task& task) {
  try {
    return canonical_reference(task.reference);
  } catch (const ConfigError&) {
    return "";
  }
}

Task variation(const Task& parent, Rng& rng) {
  auto statements = parse_reference(parent.reference);
  for (auto& statement : statements) statement.value = mutated(statement.value, rng);
  std::vector<std::string> inputs;
  for (const auto& input : parent.inputs) inputs.push_back(input.name);
  Task task = parent;
  task.reference = reference_source(statements, inputs);
  return task;
}

}  // namespace

std::vector<Task> generate_tasks(const std::vector<Task>& tasks, int64_t count, uint64_t seed) {
  std::set<std::string> taken;
  std::vector<const Task*> parents;
  for (const auto& task : tasks) {
    taken.insert(canonical_or_empty(task));
    if (task.split == "train" && readable(task)) parents.push_back(&task);
  }
  std::vector<Task> generated;
  Rng rng{seed, 0x67656E};
  for (int64_t attempt = 0; attempt < 20 * count && int64_t(generated.size()) < count && !parents.empty();
       ++attempt) {
    Task task = variation(*parents[size_t(attempt) % parents.size()], rng);
    if (!taken.insert(canonical_reference(task.reference)).second) continue;
    task.name = fmt::format("gen_{}", generated.size());
    task.split = kTracesSplit;
    generated.push_back(std::move(task));
  }
  return generated;
}

}  // namespace temper
