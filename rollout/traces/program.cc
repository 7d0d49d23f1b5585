#include "rollout/traces/program.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"

namespace temper::traces {
namespace {

using Kind = Expression::Kind;
using Dims = std::vector<std::string>;

const std::set<std::string> kReductions = {"sum", "mean", "amax", "amin"};
const std::map<std::string, std::string> kScans = {{"cumsum", "sum"}, {"cummax", "amax"}, {"cummin", "amin"}};

// What an element of a result may call (element.cc writes it).
const std::set<std::string> kFunctions = {"t",    "flip",   "maximum", "minimum",   "abs",
                                          "sqrt", "rsqrt",  "exp",     "log",       "sigmoid",
                                          "relu", "square", "clamp",   "leaky_relu"};
const std::set<std::string> kGpuFunctions = {"silu", "gelu", "tanh", "softplus", "elu",
                                             "erf",  "sin",  "cos",  "log1p"};

class Lowering {
 public:
  explicit Lowering(const env::Task& task) { program_.task = &task; }

  Program run() {
    const auto statements = parse_reference(program_.task->reference);
    for (const auto& statement : statements) targets_.insert(statement.name);
    for (const auto& [target, value] : statements) {
      if (named(target)) throw ConfigError("the trace grammar wants another name for the new '{}'", target);
      const size_t before = program_.steps.size();
      auto lowered = hoist(value, target);
      if (target.empty()) {
        program_.result = lowered;
      } else if (program_.steps.size() == before || lowered->text != target) {
        program_.aliases[target] = lowered;
      }
    }
    check();
    return std::move(program_);
  }

 private:
  // The expression with every reduction replaced by the name of the step that computes it: `wanted` for the
  // outermost.
  ExpressionPtr hoist(const ExpressionPtr& e, const std::string& wanted = "") {
    if (e->kind == Kind::kIndex && e->subscripts == Dims{"0"}) return hoist(e->children[0], wanted);
    if (e->is_call("reshape")) return hoist(e->children[0], wanted);
    if (e->is_call("softmax") || e->is_call("log_softmax")) return softmax(*e);
    if (e->is_call("logsumexp") && program_.on_gpu()) return log_sum_exp(*e);
    if (e->is_binary("@")) return product(hoist(e->children[0]), hoist(e->children[1]), wanted);
    if (e->kind == Kind::kCall && kReductions.contains(e->text)) {
      const auto value = hoist(e->children[0]);
      const int axis = axis_of(*e, *value);
      return step(e->text, value, axis, reduction_skeleton(axis), wanted);
    }
    if (e->kind == Kind::kCall && kScans.contains(e->text)) {
      const auto value = hoist(e->children[0]);
      const int axis = axis_of(*e, *value);
      if (axis < 0) throw ConfigError("{} of a vector", e->text);
      return step(kScans.at(e->text), value, axis, Skeleton::kScan, wanted);
    }
    if (e->kind == Kind::kCall && !kFunctions.contains(e->text) &&
        !(program_.on_gpu() && kGpuFunctions.contains(e->text))) {
      throw ConfigError("the trace grammar does not know torch.{}", e->text);
    }
    std::vector<ExpressionPtr> children;
    for (const auto& child : e->children) children.push_back(hoist(child));
    return with_children(*e, std::move(children));
  }

  // The dimension of `value` that a call reduces; -1: all of them.
  int axis_of(const Expression& e, const Expression& value) const {
    if (e.children.size() < 2) return -1;
    const int rank = int(program_.dims(value).size());
    const auto& text = e.children[1]->text;
    if (e.children[1]->kind != Kind::kNumber || (text != "-1" && text != "0" && text != "1"))
      throw ConfigError("{} along {}", e.text, text);
    if (rank == 1) return -1;
    return text == "-1" ? rank - 1 : std::stoi(text);
  }

  bool named(const std::string& name) const {
    const auto is_it = [&](const auto& one) { return one.name == name; };
    return program_.aliases.contains(name) || std::ranges::any_of(program_.task->inputs, is_it) ||
           std::ranges::any_of(program_.steps, is_it);
  }

  static Skeleton reduction_skeleton(int axis) {
    return axis < 0 ? Skeleton::kFull : axis == 0 ? Skeleton::kColumn : Skeleton::kRow;
  }

  ExpressionPtr step(const std::string& op, ExpressionPtr value, int axis, Skeleton skeleton,
                     const std::string& wanted) {
    if (program_.steps.size() >= 4) throw ConfigError("more than four reductions in one reference");
    if (!program_.steps.empty() && program_.skeleton != skeleton) {
      throw ConfigError("reductions of two kinds in one reference");
    }
    program_.skeleton = skeleton;
    const std::string label = wanted.empty() ? free_name() : wanted;
    program_.steps.push_back({label, op, std::move(value), axis});
    return name(label);
  }

  std::string free_name() const {
    for (const char* label : {"s", "t", "g", "o", "s1", "t1", "g1", "o1"}) {
      if (!named(label) && !targets_.contains(label)) return label;
    }
    throw ConfigError("task {}: too many names", program_.task->name);
  }

  ExpressionPtr softmax(const Expression& e) {
    auto value = hoist(e.children[0]);
    if (axis_of(e, *value) != 1) throw ConfigError("{} along an axis other than 1", e.text);
    if (!program_.steps.empty()) throw ConfigError("{} of a reduction", e.text);
    if (program_.on_gpu()) return softmax_of_steps(value, e.is_call("log_softmax"));
    program_.skeleton = Skeleton::kSoftmax;
    program_.log_softmax = e.is_call("log_softmax");
    program_.steps = {{"t", "amax", value, 1}, {"s", "sum", value, 1}};
    if (!program_.log_softmax) return binary("/", name(kStored), name("s"));
    return binary("-", binary("-", name(kStored), name("t")), call("log", {name("s")}));
  }

  ExpressionPtr softmax_of_steps(const ExpressionPtr& value, bool logarithm) {
    const auto [shifted, sum] = shifted_and_sum(value);
    const auto row = [](const ExpressionPtr& number) { return index(number, {":", "None"}); };
    if (logarithm) return binary("-", shifted, row(call("log", {sum})));
    return binary("/", call("exp", {shifted}), row(sum));
  }

  ExpressionPtr log_sum_exp(const Expression& e) {
    const auto value = hoist(e.children[0]);
    if (axis_of(e, *value) != 1 || !program_.steps.empty()) throw ConfigError("such a logsumexp");
    const auto sum = shifted_and_sum(value).second;
    return binary("+", call("log", {sum}), name(program_.steps[0].name));
  }

  // The value less its maximum, and the sum of its exponentials.
  std::pair<ExpressionPtr, ExpressionPtr> shifted_and_sum(const ExpressionPtr& value) {
    program_.softmax = true;
    const auto maximum = step("amax", value, 1, Skeleton::kRow, "");
    const auto shifted = binary("-", value, index(maximum, {":", "None"}));
    return {shifted, step("sum", call("exp", {shifted}), 1, Skeleton::kRow, "")};
  }

  ExpressionPtr product(ExpressionPtr left, ExpressionPtr right, const std::string& wanted) {
    const size_t rows = program_.dims(*left).size(), columns = program_.dims(*right).size();
    if (rows == 2 && columns == 2) return step("sum", binary("@", left, right), 1, Skeleton::kMatmul, wanted);
    if (rows == 2) return step("sum", binary("*", left, right), 1, Skeleton::kRow, wanted);
    if (columns == 2)
      return step("sum", binary("*", index(left, {":", "None"}), right), 0, Skeleton::kColumn, wanted);
    throw ConfigError("a product of two vectors");
  }

  void check() const {
    const auto& task = *program_.task;
    if (task.outputs.size() != 1)
      throw ConfigError("task {}: the trace grammar writes one output", task.name);
    static const std::set<std::string> taken = {"i", "j", "l", "v", "e",
                                                "f", "s", "t", "g", "o"};  // by the kernel
    for (const auto& input : task.inputs) {
      if (input.shape.empty() || input.shape.size() > 2) throw ConfigError("input '{}'", input.name);
      if (!program_.on_gpu() && taken.contains(input.name))
        throw ConfigError("task {}: input '{}'", task.name, input.name);
    }
    const size_t rank = task.outputs[0].shape.size();
    const bool fits = rank == 2 || (rank == 1 && (program_.on_gpu() || program_.skeleton != Skeleton::kMap));
    if (program_.on_gpu()) check_gpu();
    if (!fits || (program_.steps.size() > 1 && program_.skeleton == Skeleton::kColumn)) {
      throw ConfigError("task {}: the trace grammar has no loops for it", task.name);
    }
  }

  // What the writers for GPUs take for granted.
  void check_gpu() const {
    const auto& output = program_.task->outputs[0];
    if (!env::is_float(output.type)) throw ConfigError("output '{}' of integers", output.name);
    for (const auto& input : program_.task->inputs) {
      if (std::ranges::count(input.shape, "1") > 0)
        throw ConfigError("input '{}' of one element", input.name);
    }
    for (const auto& step : program_.steps) {
      check_subscripts(*step.value);
      const bool extreme = step.op == "amax" || step.op == "amin";
      if (extreme && std::ranges::any_of(program_.task->inputs, &env::TensorSpec::nonfinite))
        throw ConfigError("{} where a NaN stays one", step.op);
    }
    for (const auto& alias : program_.aliases) check_subscripts(*alias.second);
    check_subscripts(*program_.result);
    check_result();
    if (program_.steps.size() > 1 && program_.skeleton != Skeleton::kRow)
      throw ConfigError("several reductions, not along rows");
    if (program_.skeleton != Skeleton::kMap) check_reduced();
  }

  // Slices, new dimensions, and index tensors of one dimension.
  void check_subscripts(const Expression& e) const {
    for (const auto& item : e.subscripts) {
      const auto is_index = [&](const env::TensorSpec& input) {
        return input.name == item && input.type == env::ElementType::kI32 && input.shape.size() == 1;
      };
      if (item == "None" || item.find(':') != std::string::npos) continue;
      if (std::ranges::none_of(program_.task->inputs, is_index))
        throw ConfigError("the subscript '{}'", item);
    }
    if ((e.is_call("t") || e.is_call("flip")) && names_step(*e.children[0]))
      throw ConfigError("{} of a reduction", e.text);  // a thread has only its own place's
    const bool nonfinite = std::ranges::any_of(program_.task->inputs, &env::TensorSpec::nonfinite);
    if (nonfinite && (e.is_call("maximum") || e.is_call("minimum")))
      throw ConfigError("{} where a NaN stays one", e.text);  // fmaxf and fminf drop it
    for (const auto& child : e.children) check_subscripts(*child);
  }

  bool names_step(const Expression& e) const {
    if (e.kind == Kind::kName) {
      const auto it = program_.aliases.find(e.text);
      if (it != program_.aliases.end()) return names_step(*it->second);
      return std::ranges::any_of(program_.steps,
                                 [&](const ReductionStep& step) { return step.name == e.text; });
    }
    return std::ranges::any_of(e.children, [&](const auto& child) { return names_step(*child); });
  }

  void check_result() const {
    auto dims = program_.dims(*program_.result);
    if (program_.skeleton == Skeleton::kFull && dims.empty()) dims = {"1"};
    const auto& output = program_.task->outputs[0].shape;
    const auto fits = [](const std::string& dim, const std::string& wanted) {
      return dim == "?" || dim == wanted;
    };
    if (!std::ranges::equal(dims, output, fits))
      throw ConfigError("a result of another shape than the output's");
  }

  // The output has the shape that the loops of the skeleton write.
  void check_reduced() const {
    const auto& output = program_.task->outputs[0].shape;
    const auto dims = program_.dims(*program_.steps[0].value);
    bool fits = false;
    switch (program_.skeleton) {
      case Skeleton::kRow:
        fits = dims.size() == 2 && (output == dims || output == Dims{dims[0]});
        break;
      case Skeleton::kColumn:
        fits = dims.size() == 2 && output == Dims{dims[1]};
        break;
      case Skeleton::kScan:
        fits = output == dims && dims.size() == 2;
        break;
      case Skeleton::kFull:
        fits = dims.size() <= 2 && output == Dims{"1"};
        break;
      default:
        fits = output.size() == 2;
    }
    if (!fits) throw ConfigError("the trace grammar has no kernel for task {}", program_.task->name);
  }

  Program program_;
  std::set<std::string> targets_;
};

Dims broadcast(const Dims& left, const Dims& right) {
  Dims longer = left.size() >= right.size() ? left : right;
  const Dims& shorter = left.size() >= right.size() ? right : left;
  for (size_t k = 0; k < shorter.size(); ++k) {
    auto& dim = longer[longer.size() - 1 - k];
    if (dim == "?" || dim == "1") dim = shorter[shorter.size() - 1 - k];
  }
  return longer;
}

Dims subscripted(const Dims& from, const std::vector<std::string>& subscripts) {
  Dims to;
  size_t k = 0;
  for (const auto& item : subscripts) {
    if (item == "None") {
      to.push_back("1");
      continue;
    }
    if (k >= from.size()) throw ConfigError("too many subscripts");
    to.push_back(item == ":" ? from[k] : "?");
    ++k;
  }
  to.insert(to.end(), from.begin() + long(k), from.end());
  return to;
}

}  // namespace

Dims Program::dims(const Expression& e) const {
  if (e.kind == Kind::kNumber) return {};
  if (e.kind == Kind::kName) {
    for (const auto& input : task->inputs) {
      if (input.name == e.text) return input.shape;
    }
    if (const auto it = aliases.find(e.text); it != aliases.end()) return dims(*it->second);
    if (e.text == kStored || skeleton == Skeleton::kScan || skeleton == Skeleton::kMatmul ||
        skeleton == Skeleton::kSoftmax) {
      return task->outputs[0].shape;
    }
    const auto it =
        std::find_if(steps.begin(), steps.end(), [&](const ReductionStep& s) { return s.name == e.text; });
    if (it == steps.end()) throw ConfigError("the reference names '{}', which is not defined", e.text);
    if (it->axis < 0) return {};
    auto reduced = dims(*it->value);
    reduced.erase(reduced.begin() + it->axis);
    return reduced;
  }
  if (e.kind == Kind::kIndex) return subscripted(dims(*e.children[0]), e.subscripts);
  Dims all;
  for (const auto& child : e.children) all = broadcast(all, dims(*child));
  if (e.is_call("t")) std::swap(all[0], all[1]);
  return all;
}

Program lower(const env::Task& task) {
  if (task.module) throw ConfigError("task {}: no traces are written for problems in PyTorch", task.name);
  return Lowering(task).run();
}

}  // namespace temper::traces
