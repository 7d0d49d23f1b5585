#include "rollout/prompt/module_prompt.h"

#include <fmt/format.h>

namespace temper::rollout {
namespace {

// The example: a module, and what replaces it. It is no problem of KernelBench.
constexpr const char* kModel = R"(import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, gate):
        return torch.relu(x) * gate


def get_inputs():
    return [torch.randn(4096, 1024), torch.randn(4096, 1024)]


def get_init_inputs():
    return []
)";

constexpr const char* kInCuda = R"(import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
__global__ void gated_relu_kernel(const float* x, const float* gate, float* y, long n) {
  const long i = blockIdx.x * long(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = (x[i] < 0.0f ? 0.0f : x[i]) * gate[i];
}

torch::Tensor gated_relu(torch::Tensor x, torch::Tensor gate) {
  auto y = torch::empty_like(x);
  const long n = x.numel();
  gated_relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), gate.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""

extension = load_inline(
    name="gated_relu",
    cpp_sources="torch::Tensor gated_relu(torch::Tensor x, torch::Tensor gate);",
    cuda_sources=cuda_source,
    functions=["gated_relu"],
)


class ModelNew(nn.Module):
    def forward(self, x, gate):
        return extension.gated_relu(x.contiguous(), gate.contiguous())
)";

constexpr const char* kInTriton = R"(import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gated_relu_kernel(x_ptr, gate_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    gate = tl.load(gate_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, tl.where(x < 0.0, 0.0, x) * gate, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x, gate):
        x, gate = x.contiguous(), gate.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        gated_relu_kernel[(triton.cdiv(n, 1024),)](x, gate, y, n, BLOCK=1024)
        return y
)";

std::string fenced(const std::string& code) {
  return fmt::format("```python\n{}{}```\n", code, code.ends_with('\n') ? "" : "\n");
}

std::string statement(const ModuleWords& words) {
  const std::string how =
      words.in_triton ? "in Triton" : "in CUDA C++, compiled by torch.utils.cpp_extension.load_inline";
  std::string text = fmt::format(
      "Below is a PyTorch module, `Model`. Write `ModelNew`, which computes the same and is faster, with "
      "kernels of "
      "your own {}.\n",
      how);
  if (words.rule == "drkernel")
    return text +
           "The kernels have to take over the work that takes the time: a small kernel beside operators that "
           "PyTorch "
           "still computes gains nothing. Your answer is compiled, checked against `Model`, timed and "
           "profiled. You "
           "see what came of it, and can then improve on it.\n";
  if (words.rule == "kevin")
    return text +
           "Your answer is compiled, checked against `Model` and timed. You see the errors or the speedup, "
           "and can "
           "then repair it or make it faster.\n";
  return text +
         "Which operators you replace, fuse or leave to PyTorch is up to you, and so is the algorithm.\n";
}

std::string example(const ModuleWords& words) {
  return fmt::format("\nFor instance, this module\n\n{}\ncan be replaced by\n\n{}", fenced(kModel),
                     fenced(words.in_triton ? kInTriton : kInCuda));
}

// What a module's interface has to be.
constexpr const char* kInterface =
    "`ModelNew` takes the arguments of `Model`, in its constructor and in `forward`, and returns tensors of "
    "the same "
    "shapes and types. Its parameters and buffers have the names and shapes of those of `Model`, because "
    "they are "
    "loaded by name. Inputs come from `get_inputs` and also in other magnitudes and signs. What all draws of "
    "`get_inputs` have, such as zeros in fixed places, symmetry, an order or whole numbers, the others have, "
    "too.";

std::string instruction(const ModuleWords& words) {
  const bool thinks = words.rule == "drkernel" || words.rule == "kevin";
  return fmt::format(
      "{}{} {} one code block that can be imported as it is, without tests.\n",
      thinks ? "Think first about what bounds the time, and how the work is best divided. " : "", kInterface,
      thinks ? "End with" : "Answer with");
}

}  // namespace

std::string precision_word(const std::string& precision) {
  if (precision == "bf16") return "bfloat16";
  return precision == "fp16" ? "float16" : "float32";
}

std::string module_prompt(const ModuleWords& words, const env::Task& task, bool later) {
  const bool with_example = words.rule != "zero_shot" && !(later && words.rule == "kevin");
  return statement(words) + (with_example ? example(words) : "") +
         fmt::format("\nThe module to replace:\n\n{}\nAll floating-point tensors are torch.{}.\n\n",
                     fenced(task.reference), precision_word(task.module->precision)) +
         instruction(words);
}

std::string module_rules(const env::Task& task) {
  return fmt::format("All floating-point tensors are torch.{}. {}", precision_word(task.module->precision),
                     kInterface);
}

}  // namespace temper::rollout
