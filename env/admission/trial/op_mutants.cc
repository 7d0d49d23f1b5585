#include "env/admission/trial/op_mutants.h"

#include <fmt/format.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>

#include "env/admission/trial/op_programs.h"
#include "env/oracle/torch_names.h"

namespace temper::env {
namespace {

namespace jit = torch::jit;

constexpr double kLargestEpsilon = 2e-3;  // what is added to a divisor, and no coefficient

// Calls `visit(node)` for each node, those of inner blocks too.
template <class Visit>
void for_each_node(jit::Block* block, const Visit& visit) {
  for (auto it = block->nodes().begin(); it != block->nodes().end();) {
    jit::Node* const node = *it++;  // `visit` may destroy it
    for (jit::Block* inner : node->blocks()) for_each_node(inner, visit);
    visit(node);
  }
}

// The graph of the function in `source`, and what keeps it alive.
std::shared_ptr<jit::Graph> compiled(const std::string& source) {
  const auto unit = std::make_shared<jit::CompilationUnit>();
  unit->define(std::nullopt, source, torch_names(), nullptr);
  const auto graph = jit::toGraphFunction(unit->get_function("changed")).graph();
  return {graph.get(), [unit, graph](jit::Graph*) {}};
}

void replace(jit::Node* node, jit::Graph& program) {
  const jit::WithInsertPoint here(node);
  std::vector<jit::Value*> results = jit::insertGraph(*node->owningGraph(), program, node->inputs());
  if (results.size() < node->outputs().size()) results = jit::createTupleUnpack(results.at(0)).vec();
  for (size_t i = 0; i < node->outputs().size(); ++i) node->outputs()[i]->replaceAllUsesWith(results.at(i));
  node->destroy();
}

bool calls(const jit::Node* node, const OpProgram& program) {
  return node->kind() == c10::Symbol::fromQualString(program.op) && node->inputs().size() == program.inputs;
}

// ---- variances that are written out ----

bool is_view(const jit::Node* node) {
  static const std::vector<std::string> views{"aten::unsqueeze", "aten::slice",  "aten::select",
                                              "aten::view",      "aten::expand", "aten::reshape"};
  return std::ranges::count(views, node->kind().toQualString()) > 0;
}

// What is squared: h of square(h), h * h, h ** 2.
jit::Value* squared(jit::Value* value) {
  jit::Node* const node = value->node();
  const std::string kind = node->kind().toQualString();
  if (kind == "aten::square" || kind == "aten::pow") return node->inputs()[0];
  if (kind == "aten::mul" && node->inputs()[0] == node->inputs()[1]) return node->inputs()[0];
  return nullptr;
}

// x of mean((x - mean(x))^2), where `node` is the outer mean.
jit::Value* centred(jit::Node* node) {
  if (node->kind().toQualString() != std::string("aten::mean") || node->inputs().size() != 4) return nullptr;
  jit::Value* const deviation = squared(node->inputs()[0]);
  if (deviation == nullptr || deviation->node()->kind().toQualString() != std::string("aten::sub"))
    return nullptr;
  jit::Value* const x = deviation->node()->inputs()[0];
  const jit::Node* mean = deviation->node()->inputs()[1]->node();
  while (is_view(mean)) mean = mean->inputs()[0]->node();
  const bool of_x = mean->kind().toQualString() == std::string("aten::mean") && mean->inputs()[0] == x;
  return of_x ? x : nullptr;
}

bool make_one_pass(jit::Graph& graph) {
  bool changed = false;
  const auto program = compiled(kOnePassVariance);
  for_each_node(graph.block(), [&](jit::Node* node) {
    jit::Value* const x = centred(node);
    if (x == nullptr) return;
    node->replaceInput(0, x);
    replace(node, *program);
    changed = true;
  });
  return changed;
}

// ---- constants ----

bool scale_epsilons(jit::Graph& graph, double factor) {
  bool changed = false;
  for_each_node(graph.block(), [&](jit::Node* node) {
    if (node->kind() != c10::prim::Constant || node->output()->type() != c10::FloatType::get()) return;
    const double value = jit::toIValue(node->output())->toDouble();
    if (value <= 0 || value > kLargestEpsilon) return;
    const jit::WithInsertPoint here(node);
    node->output()->replaceAllUsesWith(graph.insertConstant(value * factor));
    changed = true;
  });
  return changed;
}

bool apply(const OpProgram& program, jit::Graph& graph) {
  bool changed = false;
  const auto inside = compiled(program.source);
  for_each_node(graph.block(), [&](jit::Node* node) {
    if (!calls(node, program)) return;
    replace(node, *inside);
    changed = true;
  });
  return changed;
}

// An edit that says whether it changed something.
using Change = std::function<bool(jit::Graph&)>;

}  // namespace

std::vector<OpMutant> op_mutants(const Task& task) {
  std::vector<std::pair<std::string, Change>> changes{
      {"one-pass variance", make_one_pass},
      {"ten times the epsilon", [](jit::Graph& graph) { return scale_epsilons(graph, 10); }},
      {"a tenth of the epsilon", [](jit::Graph& graph) { return scale_epsilons(graph, 0.1); }},
      {"no epsilon", [](jit::Graph& graph) { return scale_epsilons(graph, 0); }}};
  for (const OpProgram& program : op_programs())
    changes.emplace_back(program.name, [&program](jit::Graph& graph) { return apply(program, graph); });
  std::vector<OpMutant> mutants;
  for (const auto& [name, change] : changes) {
    bool changed = false;
    Reference(task, [&, &made = change](jit::Graph& graph) { changed = made(graph); });
    if (!changed) continue;
    const auto same = [&, &called = name](const OpMutant& mutant) { return mutant.name == called; };
    if (const auto there = std::ranges::find_if(mutants, same); there != mutants.end())
      there->edit = [first = there->edit, change](jit::Graph& graph) { first(graph), change(graph); };
    else
      mutants.push_back({name, [change](jit::Graph& graph) { change(graph); }});
  }
  return mutants;
}

}  // namespace temper::env
