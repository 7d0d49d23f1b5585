#include "rollout/traces/variation.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/error.h"
#include "rollout/traces/formula.h"
#include "rollout/traces/program.h"
#include "rollout/traces/retype.h"
#include "rollout/traces/spelling.h"

namespace temper::traces {

using env::Task;
using env::TensorSpec;

namespace {

using Kind = Expression::Kind;
using Names = std::set<std::string>;

constexpr double kExchange = 0.6;  // functions, operators and operands
constexpr double kWrap = 0.2;      // functions put around sums, products and, more rarely, functions
constexpr double kUnwrap = 0.15;   // functions and constant factors taken away
constexpr double kExtend = 0.25;   // results given one more operand
constexpr double kJoin = 0.1;      // operands joined with another one
constexpr double kChoose = 0.08;   // sums and products that become a maximum or minimum
// On GPUs alone, where a policy is large enough for more:
constexpr double kAgain = 0.45;   // varied once more
constexpr double kRetype = 0.4;   // other types of elements
constexpr double kPrepare = 0.3;  // an input replaced by something made of it
constexpr double kName = 0.15;    // a part of the result given a name
constexpr double kTurn = 0.5;     // b @ x for x @ a
constexpr double kSums = 0.35;    // sums along rows set against others
constexpr double kRoot = 0.5;     // of sums of squares and magnitudes
constexpr double kRespell = 0.5;  // said in other words

const Names kExchangedFunctions = {"relu", "abs", "square", "clamp", "leaky_relu"};
const Names kExchangedGpuFunctions = {"sigmoid", "tanh", "silu", "gelu"};
const Names kOperators = {"+", "-", "*"};
const Names kExchangedReductions = {"sum", "mean", "amax", "amin"};
const Names kChoices = {"maximum", "minimum"};
const Names kIntermediates = {"d", "h", "p", "t", "u", "v"};

bool is_root(const Expression& e) { return e.is_call("sqrt") || e.is_call("rsqrt"); }

// The names that a quotient or a root stands on.
Names delicate_names(const std::vector<Statement>& statements) {
  std::vector<std::string> names;
  for (const auto& statement : statements) {
    any_part(*statement.value, [&](const Expression& e) {
      if (e.is_binary("/")) collect_names(*e.children[1], names);
      if (is_root(e)) collect_names(*e.children[0], names);
      return false;
    });
  }
  return {names.begin(), names.end()};
}

class Variation {
 public:
  Variation(const Task& parent, Rng& rng)
      : parent_(parent),
        rng_(rng),
        output_(parent.outputs[0]),
        statements_(parse_reference(parent.reference)) {
    std::vector<std::string> rows_columns = output_.shape;
    for (const auto& input : parent.inputs) {
      known_[input.name] = input;
      if (rows_columns.size() < 2 && input.shape.size() == 2) rows_columns = input.shape;
    }
    if (rows_columns.size() == 1 && output_.shape == rows_columns && on_gpu()) offer("z", rows_columns);
    if (rows_columns.size() != 2) return;
    table_ = rows_columns;
    offer("z", rows_columns);
    offer("a", {rows_columns[1]});
    offer("c", {rows_columns[1]});
    offer("b", {rows_columns[0]});
  }

  Task run() {
    if (on_gpu() && rng_.uniform() < kTurn) turn();
    if (on_gpu() && rng_.uniform() < kPrepare) prepare();
    const Names delicate = delicate_names(statements_);
    for (auto& [name, value] : statements_) {
      value = delicate.contains(name) ? delicately_varied(value) : varied(value, false);
      ranks_[name] = rank(*value);
    }
    if (on_gpu() && rng_.uniform() < kSums) set_against();
    extend(statements_.back().value);
    if (on_gpu() && rng_.uniform() < kName) name_a_part();
    return task();
  }

 private:
  // An operand to draw from, unless the parent has something else of that name.
  void offer(const std::string& name, const std::vector<std::string>& shape) {
    if (name == output_.name || is_defined(name)) return;
    TensorSpec spec;
    spec.name = name;
    spec.shape = shape;
    spec.type = output_.type;
    const auto [it, fresh] = known_.try_emplace(name, spec);
    if (it->second.shape == shape && it->second.distribution == env::Distribution::kNormal)
      operands_.push_back(name);
  }

  Task task() const {
    std::vector<std::string> used;
    for (const auto& statement : statements_) collect_names(*statement.value, used);
    Task task = parent_;
    task.outputs = {output_};
    task.inputs.clear();
    std::vector<std::string> names;
    for (const auto& name : used) {
      if (!known_.contains(name) || ranks_.contains(name)) continue;
      task.inputs.push_back(known_.at(name));
      names.push_back(name);
    }
    task.reference = reference_source(statements_, names);
    if (on_gpu()) set_least_work(task);
    return task;
  }

  bool on_gpu() const { return parent_.on_gpu(); }

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
    if (e.kind == Kind::kCall && kExchangedReductions.contains(e.text))
      return e.children.size() > 1 ? first - 1 : 0;
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

  // x @ a as b @ x: down the columns what went along the rows.
  void turn() {
    const auto& e = *statements_.back().value;
    if (statements_.size() > 1 || !e.is_binary("@") || !among(operands_, "b")) return;
    const auto &x = e.children[0], &a = e.children[1];
    if (x->kind != Kind::kName || known_.at(x->text).shape != table_ || rank(*a) != 1) return;
    known_.at("b").type = known_.at(x->text).type;
    output_.shape = {table_[1]};
    statements_.back().value = binary("@", name("b"), x);
  }

  // h = f(x), or of x and another operand; h, or all that, stands where x stood. It may be called otherwise.
  void prepare() {
    const auto& input = parent_.inputs[0];
    const bool picks = std::ranges::any_of(parent_.inputs, [](const TensorSpec& one) {
      return one.type == env::ElementType::kI32 || one.distribution != env::Distribution::kNormal;
    });
    const bool moves = parent_.reference.find('@') != std::string::npos ||
                       parent_.reference.find(".t(") != std::string::npos ||
                       parent_.reference.find("flip") != std::string::npos;
    if (picks || moves || operands_.empty() || input.shape != table_) return;
    auto value = name(input.name);
    if (rng_.uniform() < 0.6) value = binary(pick(kOperators), value, operand());
    if (value->kind == Kind::kName || rng_.uniform() < 0.4) value = function_of(value);
    const auto is_input = [&](const ExpressionPtr& e) {
      return e->kind == Kind::kName && e->text == input.name;
    };
    const auto label = free_name();
    const bool in_place = uses(input.name) == 1 && rng_.below(2);
    if (label.empty() && !in_place) return;
    const auto by = in_place ? value : name(label);
    for (auto& statement : statements_) statement.value = replaced(statement.value, is_input, by);
    if (in_place) return;
    ranks_[label] = 2;
    statements_.insert(statements_.begin(), {label, value});
  }

  size_t uses(const std::string& name) const {
    size_t count = 0;
    for (const auto& statement : statements_)
      any_part(*statement.value, [&](const Expression& e) {
        count += e.kind == Kind::kName && e.text == name;
        return false;
      });
    return count;
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
    const auto label = free_name();
    if (parts.empty() || label.empty()) return;
    const auto part = parts[rng_.below(parts.size())];
    result = replaced(result, [&](const ExpressionPtr& e) { return e == part; }, name(label));
    ranks_[label] = 2;
    statements_.insert(statements_.end() - 1, {label, part});
  }

  // As a dimension or by a statement.
  bool is_defined(const std::string& name) const {
    return std::ranges::count(parent_.dims, name) > 0 ||
           std::ranges::any_of(statements_, [&](const auto& one) { return one.name == name; });
  }
  bool is_free(const std::string& name) const { return !known_.contains(name) && !is_defined(name); }

  // Of an intermediate table; empty where there are two, as each of them is written out wherever it is used.
  std::string free_name() {
    Names names = kIntermediates;
    std::erase_if(names, [&](const std::string& name) { return !is_free(name); });
    return names.size() + 2 <= kIntermediates.size() ? "" : pick(names);
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
    if (is_root(*e) || (on_gpu() && (e->is_call("log") || e->is_call("log1p"))))  // nothing below zero in it
      return on_gpu() ? with_other_offset(e) : e;
    auto children = e->children;
    const bool function = e->kind == Kind::kCall && (kExchangedFunctions.contains(e->text) ||
                                                     (on_gpu() && kExchangedGpuFunctions.contains(e->text)));
    const size_t open = e->is_binary("/") ? 1 : children.size();
    for (size_t k = 0; k < open; ++k) children[k] = varied(children[k], function);
    if (on_gpu() && e->is_binary("/")) children[1] = with_other_offset(children[1]);
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

  // A sum of magnitudes stays one, or becomes the largest of them.
  ExpressionPtr delicately_varied(const ExpressionPtr& e) {
    if (!e->is_call("sum") && !e->is_call("mean")) return e;
    if (on_gpu() && is_size(*e) && rng_.below(3) == 0) return call("amax", e->children);
    return call(rng_.below(2) ? "sum" : "mean", e->children);
  }

  ExpressionPtr function_of(const ExpressionPtr& value) {
    return temper::traces::function_of(value, {on_gpu(), output_.type != env::ElementType::kF16}, rng_);
  }

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
    return kExchangedReductions.contains(e->text)
               ? call(exchanged_name(e->text, kExchangedReductions), e->children)
               : e;
  }

  ExpressionPtr exchanged_binary(const ExpressionPtr& e, bool inside_function) {
    if (!kOperators.contains(e->text) || e->is_square()) return e;  // x - x is nothing to ask for
    const auto& left = e->children[0];
    auto right = e->children[1];
    if (right->kind == Kind::kNumber) {
      const double draw = rng_.uniform();
      if (draw < kUnwrap) return left;
      return on_gpu() && draw < kUnwrap + kExchange ? binary(e->text, left, number(some_number(rng_))) : e;
    }
    if (left->kind == Kind::kNumber) return e;
    const bool table = rank(*left) == 2 && !is_operand(*left);
    const bool norm = any_part(*right, is_root);  // x * rsqrt(…): another operator would make it none
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
    if (on_gpu() && input_of(*one) == input_of(*other)) return one;
    return binary(op, one, other);
  }

  std::string exchanged_name(const std::string& name, const Names& kind) {
    return rng_.uniform() < kExchange ? pick(kind) : name;
  }

  // A sum along the rows of a table, set against one or two others of it: s - t, s * rsqrt(t * g + 1e-6), …
  void set_against() {
    const auto& input = parent_.inputs[0];
    const auto result = statements_.back().value;
    const bool sum = result->is_call("sum") || result->is_call("mean");
    if (!sum || result->children.size() != 2 || result->children[1]->text != "1" || input.shape != table_ ||
        output_.type == env::ElementType::kF16)
      return;
    auto value = named(result);
    switch (rng_.below(3)) {
      case 0: {
        const auto op = pick(kOperators), reduction = pick(kExchangedReductions);
        value = binary(op, value, named(along_rows(reduction, function_of(a_table()))));
        break;
      }
      case 1:
        value = binary("/", value, binary("+", a_size(), number("1e-3")));
        break;
      default: {
        auto under = a_size();
        if (rng_.below(2)) under = binary("*", under, a_size());
        value = binary("*", value, call("rsqrt", {binary("+", under, number("1e-6"))}));
      }
    }
    statements_.back().value = value;
  }

  ExpressionPtr a_table() {
    return name(rng_.below(2) || !among(operands_, "z") ? parent_.inputs[0].name : "z");
  }
  ExpressionPtr a_size() {
    const char* of = rng_.below(2) ? "abs" : "square";
    return named(along_rows("sum", call(of, {a_table()})));
  }
  static ExpressionPtr along_rows(const std::string& reduction, const ExpressionPtr& value) {
    return call(reduction, {value, number("1")});
  }

  // A statement of its own for the numbers of rows, while there are names.
  ExpressionPtr named(const ExpressionPtr& value) {
    for (const char* candidate : {"s", "t", "g"}) {
      if (!is_free(candidate)) continue;
      ranks_[candidate] = 1;
      statements_.insert(statements_.end() - 1, {candidate, value});
      return name(candidate);
    }
    return value;
  }

  // Of rows, columns or all: a sum or mean of what is not negative.
  static bool is_size(const Expression& e) {
    return (e.is_call("sum") || e.is_call("mean")) &&
           (e.children[0]->is_call("abs") || e.children[0]->is_square());
  }

  // One more operand on the result: of a table any, of a row or column of numbers the one as long.
  void extend(ExpressionPtr& value) {
    if (on_gpu() && is_size(*value) && rank(*value) == 1 && rng_.uniform() < kRoot) {
      value = call("sqrt", {value});
      return;
    }
    if (rng_.uniform() > kExtend || operands_.empty() || value->is_call("reshape")) return;
    const auto op = pick(kOperators);
    if (rank(*value) == 2) {
      value = binary(op, value, operand());
      return;
    }
    if (on_gpu() && rank(*value) == 1 && rng_.below(2)) {
      value = function_of(value);
      return;
    }
    for (const char* vector : {"a", "b"}) {
      if (!among(operands_, vector) || known_.at(vector).shape != output_.shape) continue;
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
  TensorSpec output_;
  std::vector<Statement> statements_;
  std::map<std::string, TensorSpec> known_;
  std::vector<std::string> operands_, table_;  // table_: rows and columns, where there are such
  std::map<std::string, size_t> ranks_;        // of named intermediates
};

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
  if (!task.on_gpu()) return task;
  while (rng.uniform() < kAgain && can_vary(task)) task = Variation(task, rng).run();
  if (rng.uniform() < kRetype) task = with_other_type(std::move(task), rng);
  return rng.uniform() < kRespell && can_vary(task) ? respelled(std::move(task), rng) : task;
}

}  // namespace temper::traces
