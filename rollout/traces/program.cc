#include "rollout/traces/program.h"

#include <algorithm>
#include <set>

#include "base/error.h"

namespace temper {
namespace {

using Kind = Expression::Kind;
using Dims = std::vector<std::string>;

const std::set<std::string> kReductions = {"sum", "mean", "amax", "amin"};
const std::map<std::string, std::string> kScans = {{"cumsum", "sum"}, {"cummax", "amax"}, {"cummin", "amin"}};

int axis_of(const Expression& e) { return e.children.size() > 1 ? std::stoi(e.children[1]->text) : -1; }

class Lowering {
 public:
  explicit Lowering(const Task& task) { program_.task = &task; }

  Program run() {
    for (const auto& [target, value] : parse_reference(program_.task->reference)) {
      const size_t before = program_.steps.size();
      wanted_ = target;
      auto lowered = hoist(value);
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
  // The expression with every reduction replaced by the name of the step that computes it.
  ExpressionPtr hoist(const ExpressionPtr& e) {
    if (e->kind == Kind::kIndex && e->subscripts == Dims{"0"}) return hoist(e->children[0]);
    if (e->is_call("reshape")) return hoist(e->children[0]);
    if (e->is_call("softmax") || e->is_call("log_softmax")) return softmax(*e);
    if (e->is_binary("@")) return product(hoist(e->children[0]), hoist(e->children[1]));
    if (e->kind == Kind::kCall && kReductions.contains(e->text)) {
      return step(e->text, hoist(e->children[0]), axis_of(*e), reduction_skeleton(axis_of(*e)));
    }
    if (e->kind == Kind::kCall && kScans.contains(e->text)) {
      return step(kScans.at(e->text), hoist(e->children[0]), axis_of(*e), Skeleton::kScan);
    }
    std::vector<ExpressionPtr> children;
    for (const auto& child : e->children) children.push_back(hoist(child));
    return with_children(*e, std::move(children));
  }

  static Skeleton reduction_skeleton(int axis) {
    return axis < 0 ? Skeleton::kFull : axis == 0 ? Skeleton::kColumn : Skeleton::kRow;
  }

  ExpressionPtr step(const std::string& op, ExpressionPtr value, int axis, Skeleton skeleton) {
    static const char* names[] = {"s", "t", "g", "o"};
    if (program_.steps.size() >= std::size(names))
      throw ConfigError("more than four reductions in one reference");
    if (!program_.steps.empty() && program_.skeleton != skeleton) {
      throw ConfigError("reductions of two kinds in one reference");
    }
    program_.skeleton = skeleton;
    const std::string label = wanted_.empty() ? names[program_.steps.size()] : wanted_;
    program_.steps.push_back({label, op, std::move(value), axis});
    return name(label);
  }

  ExpressionPtr softmax(const Expression& e) {
    if (axis_of(e) != 1) throw ConfigError("{} along an axis other than 1", e.text);
    auto value = hoist(e.children[0]);
    program_.skeleton = Skeleton::kSoftmax;
    program_.log_softmax = e.is_call("log_softmax");
    program_.steps = {{"t", "amax", value, 1}, {"s", "sum", value, 1}};
    if (!program_.log_softmax) return binary("/", name(kStored), name("s"));
    return binary("-", binary("-", name(kStored), name("t")), call("log", {name("s")}));
  }

  ExpressionPtr product(ExpressionPtr left, ExpressionPtr right) {
    const size_t rows = program_.dims(*left).size(), columns = program_.dims(*right).size();
    if (rows == 2 && columns == 2) return step("sum", binary("@", left, right), 1, Skeleton::kMatmul);
    if (rows == 2) return step("sum", binary("*", left, right), 1, Skeleton::kRow);
    if (columns == 2)
      return step("sum", binary("*", index(left, {":", "None"}), right), 0, Skeleton::kColumn);
    throw ConfigError("a product of two vectors");
  }

  void check() const {
    const auto& task = *program_.task;
    if (task.outputs.size() != 1)
      throw ConfigError("task {}: the trace grammar writes one output", task.name);
    static const std::set<std::string> taken = {"i", "j", "l", "v", "e",
                                                "f", "s", "t", "g", "o"};  // by the kernel
    for (const auto& input : task.inputs) {
      if (taken.contains(input.name)) throw ConfigError("task {}: input '{}'", task.name, input.name);
    }
    const size_t rank = task.outputs[0].shape.size();
    const bool fits = rank == 2 || (rank == 1 && program_.skeleton != Skeleton::kMap);
    if (!fits || (program_.steps.size() > 1 && program_.skeleton == Skeleton::kColumn)) {
      throw ConfigError("task {}: the trace grammar has no loops for it", task.name);
    }
  }

  Program program_;
  std::string wanted_;
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
    const auto it = std::find_if(steps.begin(), steps.end(), [&](const Step& s) { return s.name == e.text; });
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

Program lower(const Task& task) { return Lowering(task).run(); }

}  // namespace temper
