#include "env/oracle/plain_sums.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <memory>
#include <optional>
#include <vector>

#include "env/oracle/sensitivity.h"
#include "env/oracle/torch_names.h"

namespace temper::env {
namespace {

namespace jit = torch::jit;

constexpr double kMostLost = 0x1p-8;
constexpr double kMantissaBits = 23;

// The functions take what the ops of the same name take.
constexpr const char* kWrittenOut = R"(
def softmax(x, dim: int, dtype: Optional[int]):
    e = torch.exp(x - torch.amax(x, [dim], True))
    return e / torch.sum(e, [dim], True)

def log_softmax(x, dim: int, dtype: Optional[int]):
    d = x - torch.amax(x, [dim], True)
    return d - torch.log(torch.sum(torch.exp(d), [dim], True))

def logsumexp(x, dim: List[int], keepdim: bool):
    most = torch.amax(x, dim, True)
    most = torch.where(torch.isfinite(most), most, torch.zeros_like(most))
    y = most + torch.log(torch.sum(torch.exp(x - most), dim, True))
    return torch.amax(y, dim, keepdim)

def layer_norm(x, sizes: List[int], w: Optional[Tensor], b: Optional[Tensor], eps: float, fused: bool):
    dims = [-1 - i for i in range(len(sizes))]
    d = x - torch.mean(x, dims, True)
    y = d * torch.rsqrt(torch.mean(d * d, dims, True) + eps)
    if w is not None:
        y = y * w
    if b is not None:
        y = y + b
    return y

def group_norm(x, groups: int, w: Optional[Tensor], b: Optional[Tensor], eps: float, fused: bool):
    g = x.reshape([x.size(0), groups, -1])
    d = g - torch.mean(g, [2], True)
    y = (d * torch.rsqrt(torch.mean(d * d, [2], True) + eps)).reshape(x.size())
    channels = [1, x.size(1)] + [1 for i in range(x.dim() - 2)]
    if w is not None:
        y = y * w.reshape(channels)
    if b is not None:
        y = y + b.reshape(channels)
    return y
)";

const jit::CompilationUnit& written_out() {
  static const auto unit = [] {
    auto made = std::make_unique<jit::CompilationUnit>();
    made->define(std::nullopt, kWrittenOut, torch_names(), nullptr);
    return made;
  }();
  return *unit;
}

void write_out(jit::Block& block) {
  std::vector<jit::Node*> nodes(block.nodes().begin(), block.nodes().end());
  for (jit::Node* node : nodes) {
    for (jit::Block* inner : node->blocks()) write_out(*inner);
    if (!node->kind().is_aten()) continue;
    jit::Function* function = written_out().find_function(node->kind().toUnqualString());
    if (function == nullptr) continue;
    jit::Graph& callee = *jit::toGraphFunction(*function).graph();
    if (callee.inputs().size() != node->inputs().size()) continue;
    const jit::WithInsertPoint here(node);
    node->output()->replaceAllUsesWith(jit::insertGraph(*node->owningGraph(), callee, node->inputs()).at(0));
    node->destroy();
  }
}

// What each term loses as it is rounded to the last place of the whole.
at::Tensor losses_of_terms(const at::Tensor& terms, const at::Tensor& whole) {
  const at::Tensor last_place = at::exp2(whole.log2().floor() - kMantissaBits);
  return at::where(last_place > 0, (terms / last_place).round() * last_place - terms, 0.0);
}

at::Tensor at_most(const at::Tensor& size, const at::Tensor& most) {
  return at::minimum(at::maximum(size, -most), most);
}

at::Tensor with_loss(const at::Tensor& exact, const at::Tensor& terms, at::IntArrayRef dims, bool mean) {
  if (!exact.is_floating_point() || terms.numel() == 0) return exact;
  const double count = double(terms.numel()) / double(exact.numel());
  const at::Tensor loss = loss_of_sum(terms.to(exact.scalar_type()), dims).reshape(exact.sizes());
  return RandomRoundings::running().of_sum(exact, count) + loss / (mean ? count * kMovements : kMovements);
}

template <bool mean>
void lose(jit::Stack& stack) {
  at::Tensor exact, terms;
  std::optional<std::vector<int64_t>> dims;
  jit::pop(stack, exact, terms, dims);
  jit::push(stack, with_loss(exact, terms, dims.value_or(std::vector<int64_t>{}), mean));
}

void lose_running(jit::Stack& stack) {
  at::Tensor exact, terms;
  int64_t dim = 0;
  jit::pop(stack, exact, terms, dim);
  if (!exact.is_floating_point() || exact.dim() == 0) return jit::push(stack, exact);
  const at::Tensor loss = loss_of_running_sums(terms.to(exact.scalar_type()), exact, dim);
  jit::push(stack, RandomRoundings::running().of_running_sums(exact, dim) + loss / kMovements);
}

constexpr auto kAnyAlias = c10::AliasAnalysisKind::CONSERVATIVE;
const jit::RegisterOperators registered_losses(
    {jit::Operator("temper::lossy_sum(Tensor exact, Tensor terms, int[]? dims) -> Tensor", lose<false>,
                   kAnyAlias),
     jit::Operator("temper::lossy_mean(Tensor exact, Tensor terms, int[]? dims) -> Tensor", lose<true>,
                   kAnyAlias),
     jit::Operator("temper::lossy_cumsum(Tensor exact, Tensor terms, int dim) -> Tensor", lose_running,
                   kAnyAlias)});

void lose_in_block(jit::Block& block) {
  for (jit::Node* node : block.nodes()) {
    for (jit::Block* inner : node->blocks()) lose_in_block(*inner);
    const char* lossy_op = node->kind() == c10::aten::sum      ? "temper::lossy_sum"
                           : node->kind() == c10::aten::mean   ? "temper::lossy_mean"
                           : node->kind() == c10::aten::cumsum ? "temper::lossy_cumsum"
                                                               : nullptr;
    if (lossy_op == nullptr) continue;
    jit::Graph& graph = *node->owningGraph();
    jit::Node* lossy = graph.create(c10::Symbol::fromQualString(lossy_op), 1);
    const jit::WithInsertPoint here(node);
    jit::Value* dims =
        node->hasNamedInput("dim") ? node->namedInput("dim") : graph.insertConstant(c10::IValue());
    lossy->insertAfter(node);
    node->output()->replaceAllUsesWith(lossy->output());
    lossy->addInput(node->output());
    lossy->addInput(node->namedInput("self"));
    lossy->addInput(dims);
  }
}

}  // namespace

at::Tensor loss_of_sum(const at::Tensor& terms, at::IntArrayRef dims) {
  const at::Tensor whole = at::maximum(terms.sum(dims, true).abs(), terms.abs().amax(dims, true));
  return at_most(losses_of_terms(terms, whole).sum(dims, true), whole * kMostLost);
}

at::Tensor loss_of_running_sums(const at::Tensor& terms, const at::Tensor& sums, int64_t dim) {
  const at::Tensor whole = at::maximum(sums.abs(), terms.abs());
  return at_most(losses_of_terms(terms, whole).cumsum(dim), std::get<0>(whole.cummax(dim)) * kMostLost);
}

void lose_in_sums(jit::Graph& graph) {
  write_out(*graph.block());
  lose_in_block(*graph.block());
}

}  // namespace temper::env
