#include "env/oracle/roundings.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <cmath>

#include "base/error.h"
#include "base/rng.h"

namespace temper::env {
namespace {

namespace jit = torch::jit;

thread_local const RandomRoundings* current = nullptr;

void round_top(jit::Stack& stack) {
  const at::Tensor exact = jit::pop(stack).toTensor();
  jit::push(stack, exact.defined() ? RandomRoundings::running().of_result(exact) : exact);
}

const jit::RegisterOperators registered_roundings({jit::Operator("temper::rounded(Tensor exact) -> Tensor",
                                                                 round_top,
                                                                 c10::AliasAnalysisKind::CONSERVATIVE)});

// 1 ± rounding for each element, made where the element is: the largest inputs of a GPU's tasks would take seconds
// on the host.
at::Tensor random_factors(const at::Tensor& like, double rounding, uint64_t key) {
  at::Generator generator = at::globalContext().defaultGenerator(like.device()).clone();
  generator.set_current_seed(key);
  at::Tensor signs = at::empty(like.sizes(), like.options());
  return signs.random_(0, 2, generator).mul_(2 * rounding).add_(1 - rounding);
}

bool is_view(const jit::Node& node, size_t output) {
  const auto* schema = node.maybeSchema();
  return schema == nullptr || output >= schema->returns().size() ||
         schema->returns()[output].alias_info() != nullptr;
}

jit::Node* new_rounding(jit::Graph& graph) {
  return graph.create(c10::Symbol::fromQualString("temper::rounded"), 1);
}

// A fused attention rounds its probabilities and never shows them. Rounding the values that they are multiplied by
// moves each product by as much.
void round_values_of_attention(jit::Graph& graph, jit::Node* node) {
  static const auto kAttention = c10::Symbol::fromQualString("aten::scaled_dot_product_attention");
  constexpr size_t kValues = 2;  // after queries and keys
  if (node->kind() != kAttention) return;
  jit::Node* rounded = new_rounding(graph)->insertBefore(node);
  rounded->addInput(node->input(kValues));
  node->replaceInput(kValues, rounded->output());
}

void round_results(jit::Graph& graph, jit::Block& block) {
  for (jit::Node* node : block.nodes()) {
    for (jit::Block* inner : node->blocks()) round_results(graph, *inner);
    if (!node->kind().is_aten()) continue;
    round_values_of_attention(graph, node);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      jit::Value* exact = node->outputs()[i];
      if (is_view(*node, i) || !exact->type()->isSubtypeOf(*c10::TensorType::get())) continue;
      jit::Node* rounded = new_rounding(graph)->insertAfter(node);
      exact->replaceAllUsesWith(rounded->output());
      rounded->addInput(exact);
    }
  }
}

}  // namespace

RandomRoundings::RandomRoundings(RoundingErrors errors, uint64_t key) : errors_(errors), key_(key) {
  TEMPER_CHECK(current == nullptr, "roundings within roundings");
  current = this;
}

RandomRoundings::~RandomRoundings() { current = nullptr; }

const RandomRoundings& RandomRoundings::running() {
  TEMPER_CHECK(current != nullptr, "a rounded reference runs by itself");
  return *current;
}

at::Tensor RandomRoundings::of_sum(const at::Tensor& exact, double terms) const {
  const double error = 0x1p-24 * std::sqrt(terms);
  return errors_.inputs > 0 && error > errors_.inputs ? next(exact, error) : exact;
}

at::Tensor RandomRoundings::of_running_sums(const at::Tensor& exact, int64_t dim) const {
  return errors_.inputs > 0 ? exact + (next(exact, 0x1p-24) - exact).cumsum(dim) : exact;
}

at::Tensor RandomRoundings::next(const at::Tensor& exact, double error) const {
  if (error == 0 || !exact.is_floating_point()) return exact;
  return exact * random_factors(exact, error, mix_key({key_, made_++}));
}

void round_results(jit::Graph& graph) { round_results(graph, *graph.block()); }

}  // namespace temper::env
