#include "rollout/traces/variation.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/error.h"
#include "rollout/traces/program.h"

namespace temper {
namespace {

using Kind = Expression::Kind;
using Names = std::set<std::string>;

constexpr double kExchange = 0.6;  // functions, operators and operands
constexpr double kWrap = 0.2;      // functions put around sums, products and, more rarely, functions
constexpr double kUnwrap = 0.15;   // functions and constant factors taken away
constexpr double kExtend = 0.25;   // results given one more operand
constexpr double kJoin = 0.1;      // operands joined with another one
constexpr double kSmooth = 0.35;   // CUDA: of functions, those with exponentials
constexpr double kChoose = 0.08;   // sums and products that become a maximum or minimum
// CUDA alone, where a policy is large enough for more:
constexpr double kAgain = 0.45;   // varied once more
constexpr double kRetype = 0.4;   // other types of elements
constexpr double kPrepare = 0.2;  // an input replaced by something made of it
constexpr double kName = 0.15;    // a part of the result given a name

const Names kFunctions = {"relu", "abs", "square", "clamp", "leaky_relu"};
const Names kCudaFunctions = {"sigmoid", "tanh", "silu", "gelu"};
const Names kOperators = {"+", "-", "*"};
const Names kReductions = {"sum", "mean", "amax", "amin"};
const Names kChoices = {"maximum", "minimum"};

bool is_root(const Expression& e) { return e.is_call("sqrt") || e.is_call("rsqrt"); }

bool any_of(const Expression& e, const std::function<bool(const Expression&)>& holds) {
  return holds(e) ||
         std::any_of(e.children.begin(), e.children.end(), [&](const auto& c) { return any_of(*c, holds); });
}

void collect_names(const Expression& e, std::vector<std::string>& names) {
  const auto add = [&](const std::string& text) {
    if (std::find(names.begin(), names.end(), text) == names.end()) names.push_back(text);
  };
  for (const auto& child : e.children) collect_names(*child, names);
  if (e.kind == Kind::kName) add(e.text);
  for (const auto& item : e.subscripts) add(item);
}

// The names that a quotient or a root stands on.
Names delicate_names(const std::vector<Statement>& statements) {
  std::vector<std::string> names;
  for (const auto& statement : statements) {
    any_of(*statement.value, [&](const Expression& e) {
      if (e.is_binary("/")) collect_names(*e.children[1], names);
      if (is_root(e)) collect_names(*e.children[0], names);
      return false;
    });
  }
  return {names.begin(), names.end()};
}

// The parent's may be more than the task's own.
void set_least_work(Task& task) {
  const auto& shape = task.timed_shape;
  const bool picks =
      task.reference.find('[') != std::string::npos &&
      std::ranges::any_of(task.inputs, [](const auto& x) { return x.type == ElementType::kI32; });
  task.min_bytes = 0;
  for (const auto& output : task.outputs) task.min_bytes += double(tensor_bytes(output, shape));
  for (const auto& input : task.inputs) {
    if (!picks) task.min_bytes += double(tensor_bytes(input, shape));
  }
  if (task.reference.find(" @ ") == std::string::npos) task.min_flops = 0;
}

class Variation {
 public:
  Variation(const Task& parent, Rng& rng)
      : parent_(parent), rng_(rng), statements_(parse_reference(parent.reference)) {
    const auto& output = parent.outputs[0].shape;
    std::vector<std::string> rows_columns = output;
    for (const auto& input : parent.inputs) {
      known_[input.name] = input;
      if (rows_columns.size() < 2 && input.shape.size() == 2) rows_columns = input.shape;
    }
    if (rows_columns.size() == 1 && parent.outputs[0].shape == rows_columns && cuda())
      offer("z", rows_columns);
    if (rows_columns.size() != 2) return;
    table_ = rows_columns;
    offer("z", rows_columns);
    offer("a", {rows_columns[1]});
    offer("c", {rows_columns[1]});
    offer("b", {rows_columns[0]});
  }

  Task run() {
    if (cuda() && rng_.uniform() < kPrepare) prepare();
    const Names delicate = delicate_names(statements_);
    for (auto& [name, value] : statements_) {
      value = delicate.contains(name) ? delicately_varied(value) : varied(value, false);
      ranks_[name] = rank(*value);
    }
    extend(statements_.back().value);
    if (cuda() && rng_.uniform() < kName) name_a_part();
    return task();
  }

 private:
  // An operand to draw from, unless the parent has something else of that name.
  void offer(const std::string& name, const std::vector<std::string>& shape) {
    const auto& output = parent_.outputs[0];
    if (name == output.name || is_defined(name)) return;
    TensorSpec spec;
    spec.name = name;
    spec.shape = shape;
    spec.type = output.type;
    const auto [it, fresh] = known_.try_emplace(name, spec);
    if (it->second.shape == shape && it->second.distribution == Distribution::kNormal)
      operands_.push_back(name);
  }

  Task task() const {
    std::vector<std::string> used;
    for (const auto& statement : statements_) collect_names(*statement.value, used);
    Task task = parent_;
    task.inputs.clear();
    std::vector<std::string> names;
    for (const auto& name : used) {
      if (!known_.contains(name) || ranks_.contains(name)) continue;
      task.inputs.push_back(known_.at(name));
      names.push_back(name);
    }
    task.reference = reference_source(statements_, names);
    if (cuda()) set_least_work(task);
    return task;
  }

  bool cuda() const { return parent_.language == "cuda"; }

  size_t rank(const Expression& e) const {
    if (e.kind == Kind::kNumber) return 0;
    if (e.kind == Kind::kName)
      return ranks_.contains(e.text) ? ranks_.at(e.text) : known_.at(e.text).shape.size();
    if (e.kind == Kind::kIndex) {
      return rank(*e.children[0]) + size_t(std::count(e.subscripts.begin(), e.subscripts.end(), "None"));
    }
    if (e.is_call("reshape")) return 1;
    const size_t first = rank(*e.children[0]);
    if (e.is_call("logsumexp")) return first - 1;
    if (e.kind == Kind::kCall && kReductions.contains(e.text)) return e.children.size() > 1 ? first - 1 : 0;
    if (e.is_binary("@")) return first + rank(*e.children[1]) - 2;
    return e.children.size() > 1 ? std::max(first, rank(*e.children[1])) : first;
  }

  // z, a, c, or b[:, None]
  bool is_operand(const Expression& e) const {
    if (e.kind == Kind::kIndex) return e.children[0]->kind == Kind::kName && e.children[0]->text == "b";
    return e.kind == Kind::kName && e.text != "b" && among(operands_, e.text);
  }

  static const std::string& input_of(const Expression& operand) {
    return operand.kind == Kind::kIndex ? operand.children[0]->text : operand.text;
  }

  // h = f(x), or of x and another operand; h stands where x stood.
  void prepare() {
    const auto& input = parent_.inputs[0];
    const bool picks = std::ranges::any_of(parent_.inputs, [](const TensorSpec& one) {
      return one.type == ElementType::kI32 || one.distribution != Distribution::kNormal;
    });
    const bool moves = parent_.reference.find('@') != std::string::npos ||
                       parent_.reference.find(".t(") != std::string::npos ||
                       parent_.reference.find("flip") != std::string::npos;
    if (picks || moves || operands_.empty() || input.shape != table_ || !is_free("h")) return;
    auto value = name(input.name);
    if (rng_.uniform() < 0.6) value = binary(pick(kOperators), value, operand());
    if (value->kind == Kind::kName || rng_.uniform() < 0.4) value = function_of(value);
    const auto is_input = [&](const ExpressionPtr& e) {
      return e->kind == Kind::kName && e->text == input.name;
    };
    for (auto& statement : statements_) statement.value = replaced(statement.value, is_input, name("h"));
    ranks_["h"] = 2;
    statements_.insert(statements_.begin(), {"h", value});
  }

  // u = what stood somewhere in the result.
  void name_a_part() {
    std::vector<ExpressionPtr> parts;
    const std::function<void(const ExpressionPtr&)> look = [&](const ExpressionPtr& e) {
      for (const auto& child : e->children) {
        if ((child->kind == Kind::kBinary || child->kind == Kind::kCall) && !child->is_binary("@") &&
            !child->is_call("t") && rank(*child) == 2)
          parts.push_back(child);
        look(child);
      }
    };
    auto& result = statements_.back().value;
    look(result);
    if (parts.empty() || !is_free("u")) return;
    const auto part = parts[rng_.below(parts.size())];
    result = replaced(
        result, [&](const ExpressionPtr& e) { return e == part; }, name("u"));
    ranks_["u"] = 2;
    statements_.insert(statements_.end() - 1, {"u", part});
  }

  // As a dimension or by a statement.
  bool is_defined(const std::string& name) const {
    return std::ranges::count(parent_.dims, name) > 0 ||
           std::ranges::any_of(statements_, [&](const auto& one) { return one.name == name; });
  }
  bool is_free(const std::string& name) const { return !known_.contains(name) && !is_defined(name); }

  // `by` wherever `wanted` holds.
  static ExpressionPtr replaced(const ExpressionPtr& e,
                                const std::function<bool(const ExpressionPtr&)>& wanted,
                                const ExpressionPtr& by) {
    if (wanted(e)) return by;
    auto children = e->children;
    for (auto& child : children) child = replaced(child, wanted, by);
    return with_children(*e, std::move(children));
  }

  // For a table with rows and columns; one that is not there yet, if any is left.
  ExpressionPtr operand() {
    std::vector<std::string> used, fresh;
    for (const auto& statement : statements_) collect_names(*statement.value, used);
    for (const auto& candidate : operands_)
      if (!among(used, candidate)) fresh.push_back(candidate);
    const auto& from = fresh.empty() ? operands_ : fresh;
    const auto& chosen = from[rng_.below(from.size())];
    return chosen == "b" ? index(name("b"), {":", "None"}) : name(chosen);
  }

  ExpressionPtr varied(const ExpressionPtr& e, bool inside_function) {
    if (is_root(*e) || (cuda() && e->is_call("log"))) return cuda() ? with_other_offset(e) : e;
    auto children = e->children;
    const bool function = e->kind == Kind::kCall &&
                          (kFunctions.contains(e->text) || (cuda() && kCudaFunctions.contains(e->text)));
    const size_t open = e->is_binary("/") ? 1 : children.size();
    for (size_t k = 0; k < open; ++k) children[k] = varied(children[k], function);
    const auto same = with_children(*e, std::move(children));
    if (function) return exchanged_function(same, inside_function);
    if (e->kind == Kind::kBinary) return exchanged_binary(same, inside_function);
    return e->kind == Kind::kCall ? exchanged_call(same) : same;
  }

  // What keeps a root from zero may be another small number.
  ExpressionPtr with_other_offset(const ExpressionPtr& e) {
    static const Names offsets = {"1e-3", "1e-4", "1e-5", "1e-6"};
    if (e->kind == Kind::kNumber && offsets.contains(e->text))
      return number(exchanged_name(e->text, offsets));
    auto children = e->children;
    for (auto& child : children) child = with_other_offset(child);
    return with_children(*e, std::move(children));
  }

  // A sum of magnitudes stays one.
  ExpressionPtr delicately_varied(const ExpressionPtr& e) {
    if (e->is_call("sum") || e->is_call("mean")) return call(rng_.below(2) ? "sum" : "mean", e->children);
    return e;
  }

  ExpressionPtr function_of(const ExpressionPtr& value) {
    if (cuda() && rng_.uniform() < kSmooth) return call(pick(kCudaFunctions), {value});
    if (cuda() && rng_.uniform() < kSmooth) return formula_of(value);
    switch (rng_.below(6)) {
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

  // Of functions and numbers: bell curves, softplus, 1 - v, v * 1.7, …
  ExpressionPtr formula_of(const ExpressionPtr& value) {
    switch (rng_.below(7)) {
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
      default:
        return binary(rng_.below(3) ? "*" : "+", value, number(some_number()));
    }
  }

  // Up to 2, of one to four digits.
  std::string some_number() { return fmt::format("{:.{}f}", 0.1 + 1.9 * rng_.uniform(), 1 + rng_.below(3)); }

  ExpressionPtr exchanged_function(const ExpressionPtr& e, bool inside_function) {
    const double draw = rng_.uniform();
    if (draw < kUnwrap) return e->children[0];
    if (draw < kUnwrap + kExchange) return function_of(e->children[0]);
    return !inside_function && rng_.uniform() < kWrap ? function_of(e) : e;
  }

  ExpressionPtr exchanged_call(const ExpressionPtr& e) {
    if (kChoices.contains(e->text)) {
      auto right = exchanged_operand(e->children[1]);
      return call(exchanged_name(e->text, kChoices), {e->children[0], right});
    }
    return kReductions.contains(e->text) ? call(exchanged_name(e->text, kReductions), e->children) : e;
  }

  ExpressionPtr exchanged_binary(const ExpressionPtr& e, bool inside_function) {
    if (!kOperators.contains(e->text)) return e;
    const auto& left = e->children[0];
    auto right = e->children[1];
    if (right->kind == Kind::kNumber) {
      const double draw = rng_.uniform();
      if (draw < kUnwrap) return left;
      return cuda() && draw < kUnwrap + kExchange ? binary(e->text, left, number(some_number())) : e;
    }
    if (left->kind == Kind::kNumber) return e;
    const bool table = rank(*left) == 2 && !is_operand(*left);
    const bool norm = any_of(*right, is_root);  // x * rsqrt(…): another operator would make it none
    if (table) right = exchanged_operand(right);
    if (table && !norm && rng_.uniform() < kChoose) return call(pick(kChoices), {left, right});
    const auto same = binary(norm ? e->text : exchanged_name(e->text, kOperators), left, right);
    return table && !inside_function && rng_.uniform() < kWrap ? function_of(same) : same;
  }

  ExpressionPtr exchanged_operand(const ExpressionPtr& e) {
    if (!is_operand(*e)) return e;
    const auto one = rng_.uniform() < kExchange ? operand() : e;
    if (rng_.uniform() > kJoin) return one;
    const auto op = pick(kOperators);
    const auto other = operand();
    if (cuda() && input_of(*one) == input_of(*other)) return one;  // x - x is nothing to ask for
    return binary(op, one, other);
  }

  std::string exchanged_name(const std::string& name, const Names& kind) {
    return rng_.uniform() < kExchange ? pick(kind) : name;
  }

  // One more operand on the result: of a table any, of a row or column of numbers the one as long.
  void extend(ExpressionPtr& value) {
    if (rng_.uniform() > kExtend || operands_.empty() || value->is_call("reshape")) return;
    const auto op = pick(kOperators);
    if (rank(*value) == 2) {
      value = binary(op, value, operand());
      return;
    }
    if (cuda() && rank(*value) == 1 && rng_.below(2)) {
      value = function_of(value);
      return;
    }
    for (const char* vector : {"a", "b"}) {
      if (!among(operands_, vector) || known_.at(vector).shape != parent_.outputs[0].shape) continue;
      value = binary(op, value, name(vector));
      return;
    }
  }

  std::string pick(const Names& from) { return *std::next(from.begin(), long(rng_.below(from.size()))); }
  static bool among(const std::vector<std::string>& list, const std::string& text) {
    return std::find(list.begin(), list.end(), text) != list.end();
  }

  const Task& parent_;
  Rng& rng_;
  std::vector<Statement> statements_;
  std::map<std::string, TensorSpec> known_;
  std::vector<std::string> operands_, table_;  // table_: rows and columns, where there are such
  std::map<std::string, size_t> ranks_;        // of named intermediates
};

// All that are of one type of float, in another one: f16 only where no sum can leave its range.
Task with_other_type(Task task, Rng& rng) {
  const ElementType from = task.outputs[0].type;
  const auto other = [&](const TensorSpec& one) {
    const bool picks = task.reference.find("[" + one.name + "]") != std::string::npos;
    return is_float(one.type) ? one.type != from : !picks;
  };
  if (std::ranges::any_of(task.inputs, other) || std::ranges::any_of(task.outputs, other)) return task;
  const bool sums = task.reference.find("sum(") != std::string::npos;
  const ElementType types[] = {ElementType::kF32, ElementType::kBF16, ElementType::kF16};
  const ElementType to = types[rng.below(sums ? 2 : 3)];
  for (auto* tensors : {&task.inputs, &task.outputs})
    for (TensorSpec& one : *tensors)
      if (is_float(one.type)) one.type = to;
  set_least_work(task);
  return task;
}

}  // namespace

bool can_vary(const Task& task) {
  try {
    lower(task);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

Task vary(const Task& parent, Rng& rng) {
  Task task = Variation(parent, rng).run();
  if (task.language != "cuda") return task;
  while (rng.uniform() < kAgain && can_vary(task)) task = Variation(task, rng).run();
  return rng.uniform() < kRetype ? with_other_type(std::move(task), rng) : task;
}

}  // namespace temper
