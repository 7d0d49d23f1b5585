#include "env/admission/trial/op_programs.h"

#include <fmt/format.h>

namespace temper::env {

const char* const kOnePassVariance = R"(
def changed(x, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]):
    m = torch.mean(x, dim, keepdim)
    return torch.mean(x * x, dim, keepdim) - m * m
)";

namespace {

using Programs = std::vector<OpProgram>;

// What is left of a reduced axis of `size` elements, and what the result is multiplied by in a sum.
struct Part {
  const char *name, *left;
  bool rescaled;
};
constexpr Part kParts[] = {{"half of the {}", "(size + 1) // 2", true},
                           {"{} without its tail", "max(size - 1, 1)", false}};

void add_reductions(Programs& programs, const Part& part) {
  const auto add = [&](const char* op, size_t inputs, const char* arguments, const char* axis,
                       const std::string& result) {
    std::string source = fmt::format(
        "def changed(x, {}):\n    d = x.dim() - 1\n    {}\n    size = x.size(d)\n    left = {}\n"
        "    y = x.narrow(d, 0, left)\n    return {}\n",
        arguments, axis, part.left, result);
    programs.push_back(
        {fmt::format(fmt::runtime(part.name), op), fmt::format("aten::{}", op), inputs, source});
  };
  const char* const scaled = part.rescaled ? " * (float(size) / float(left))" : "";
  const char* const share = part.rescaled ? "" : " * (float(left) / float(size))";
  const char *const optional = "if dim is not None:\n        d = dim[0]", *const listed = "d = dim[0]",
                    *const single = "d = dim";
  const char* const with_type = "dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]";
  add("sum", 4, with_type, optional, fmt::format("torch.sum(y, dim, keepdim){}", scaled));
  add("mean", 4, with_type, optional, fmt::format("torch.mean(y, dim, keepdim){}", share));
  add("sum", 2, "dtype: Optional[int]", "", fmt::format("torch.sum(y){}", scaled));
  add("mean", 2, "dtype: Optional[int]", "", fmt::format("torch.mean(y){}", share));
  for (const char* op : {"amax", "amin"})
    add(op, 3, "dim: List[int], keepdim: bool", listed, fmt::format("torch.{}(y, dim, keepdim)", op));
  add("logsumexp", 3, "dim: List[int], keepdim: bool", listed, "torch.logsumexp(y, dim, keepdim)");
  for (const char* op : {"argmax", "argmin"})
    add(op, 3, "dim: Optional[int], keepdim: bool", "if dim is not None:\n        d = dim",
        fmt::format("torch.{}(y, dim, keepdim)", op));
  for (const char* op : {"max", "min", "median"})
    add(op, 3, "dim: int, keepdim: bool", single, fmt::format("torch.{}(y, dim, keepdim)", op));
}

// Products over a shared axis of `size`, the last of a and the last but one of b.
void add_products(Programs& programs, const Part& part) {
  for (const char* op : {"matmul", "mm", "bmm", "mv", "dot"}) {
    std::string source = fmt::format(
        "def changed(a, b):\n    size = a.size(-1)\n    left = {}\n    d = max(b.dim() - 2, 0)\n"
        "    return torch.{}(a.narrow(-1, 0, left), b.narrow(d, 0, left))\n",
        part.left, op);
    programs.push_back(
        {fmt::format(fmt::runtime(part.name), "product"), fmt::format("aten::{}", op), 2, source});
  }
  std::string source = fmt::format(
      "def changed(x, w, b: Optional[Tensor]):\n    size = x.size(-1)\n    left = {}\n"
      "    return torch.linear(x.narrow(-1, 0, left), w.narrow(-1, 0, left), b)\n",
      part.left);
  programs.push_back({fmt::format(fmt::runtime(part.name), "product"), "aten::linear", 3, source});
}

void add_softmaxes(Programs& programs) {
  constexpr const char *kNone = "softmax without maximum", *kHalf = "maximum of half a row";
  const auto add = [&](const char* name, const char* op, const char* body) {
    programs.push_back({name, fmt::format("aten::{}", op), 3,
                        fmt::format("def changed(x, dim: int, dtype: Optional[int]):\n{}", body)});
  };
  add(kNone, "softmax", "    e = torch.exp(x)\n    return e / torch.sum(e, [dim], True)\n");
  add(kNone, "log_softmax", "    return x - torch.log(torch.sum(torch.exp(x), [dim], True))\n");
  constexpr const char* kShifted =
      "    m = torch.amax(x.narrow(dim, 0, (x.size(dim) + 1) // 2), [dim], True)\n    e = torch.exp(x - m)\n";
  add(kHalf, "softmax", fmt::format("{}    return e / torch.sum(e, [dim], True)\n", kShifted).c_str());
  add(kHalf, "log_softmax",
      fmt::format("{}    return x - m - torch.log(torch.sum(e, [dim], True))\n", kShifted).c_str());
  programs.push_back({kNone, "aten::logsumexp", 3,
                      "def changed(x, dim: List[int], keepdim: bool):\n"
                      "    return torch.log(torch.sum(torch.exp(x), dim, keepdim))\n"});
  programs.push_back({kNone, "aten::logcumsumexp", 2,
                      "def changed(x, dim: int):\n    return torch.log(torch.cumsum(torch.exp(x), dim))\n"});
}

void add_norms(Programs& programs) {
  programs.push_back({"one-pass variance", "aten::layer_norm", 6, R"(
def changed(x, shape: List[int], w: Optional[Tensor], b: Optional[Tensor], eps: float, cudnn: bool):
    m = torch.mean(x, [-1], True)
    y = (x - m) * torch.rsqrt(torch.mean(x * x, [-1], True) - m * m + eps)
    if w is not None:
        y = y * w
    if b is not None:
        y = y + b
    return y
)"});
  programs.push_back({"one-pass variance", "aten::group_norm", 6, R"(
def changed(x, groups: int, w: Optional[Tensor], b: Optional[Tensor], eps: float, cudnn: bool):
    h = x.reshape([x.size(0), groups, -1])
    m = torch.mean(h, [-1], True)
    h = (h - m) * torch.rsqrt(torch.mean(h * h, [-1], True) - m * m + eps)
    y = h.reshape(x.size(0), x.size(1), -1)
    if w is not None:
        y = y * w[:, None]
    if b is not None:
        y = y + b[:, None]
    return y.reshape(x.size())
)"});
  constexpr const char* kZero = R"(
def changed(x, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]):
    return torch.mean(x, dim, keepdim) * 0.0
)";
  programs.push_back({"mean taken for zero", "aten::mean", 4, kZero});
}

void add_activations(Programs& programs) {
  programs.push_back({"gelu by the other formula", "aten::gelu", 2, R"(
def changed(x, approximate: str):
    other = "tanh"
    if approximate == "tanh":
        other = "none"
    return torch.gelu(x, approximate=other)
)"});
  programs.push_back({"gelu by a sigmoid", "aten::gelu", 2,
                      "def changed(x, approximate: str):\n    return x * torch.sigmoid(x * 1.702)\n"});
  programs.push_back({"erf by a tanh", "aten::erf", 1,
                      "def changed(x):\n"
                      "    return torch.tanh(1.1283791671 * (x + 0.08943 * x * x * x))\n"});
}

void add_scans(Programs& programs) {
  const auto add = [&](const char* op, size_t inputs, const char* arguments) {
    std::string source = fmt::format(
        "def changed(x, {1}):\n    half = (x.size(dim) + 1) // 2\n"
        "    return torch.cat([torch.{0}(x.narrow(dim, 0, half), dim), torch.{0}(x.narrow(dim, half, "
        "x.size(dim) - half), dim)], dim)\n",
        op, arguments);
    programs.push_back({"scan without carry", fmt::format("aten::{}", op), inputs, source});
  };
  for (const char* op : {"cumsum", "cumprod"}) add(op, 3, "dim: int, dtype: Optional[int]");
  add("logcumsumexp", 2, "dim: int");
}

Programs all_programs() {
  Programs programs;
  for (const Part& part : kParts) {
    add_reductions(programs, part);
    add_products(programs, part);
  }
  add_softmaxes(programs);
  add_norms(programs);
  add_activations(programs);
  add_scans(programs);
  return programs;
}

}  // namespace

const std::vector<OpProgram>& op_programs() {
  static const Programs programs = all_programs();
  return programs;
}

}  // namespace temper::env
