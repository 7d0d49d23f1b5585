#include "rollout/prompt.h"

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
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * gate[i];
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
    tl.store(y_ptr + offsets, tl.maximum(x, 0.0) * gate, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x, gate):
        x, gate = x.contiguous(), gate.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        gated_relu_kernel[(triton.cdiv(n, 1024),)](x, gate, y, n, BLOCK=1024)
        return y
)";

bool in_triton(const PromptOptions& options) {
  return options.kernels == "triton" || (options.kernels == "auto" && options.rule == "drkernel");
}

std::string fenced(const std::string& code) {
  return fmt::format("```python\n{}{}```\n", code, code.ends_with('\n') ? "" : "\n");
}

std::string statement(const PromptOptions& options) {
  const std::string how =
      in_triton(options) ? "in Triton" : "in CUDA C++, compiled by torch.utils.cpp_extension.load_inline";
  std::string text = fmt::format(
      "Below is a PyTorch module, `Model`. Write `ModelNew`, which computes the same and is faster, with "
      "kernels of "
      "your own {}.\n",
      how);
  if (options.rule == "drkernel")
    return text +
           "The kernels have to take over the work that takes the time: a small kernel beside operators that "
           "PyTorch "
           "still computes gains nothing. Your answer is compiled, checked against `Model`, timed and "
           "profiled. You "
           "see what came of it, and can then improve on it.\n";
  if (options.rule == "kevin")
    return text +
           "Your answer is compiled, checked against `Model` and timed. You see the errors or the speedup, "
           "and can "
           "then repair it or make it faster.\n";
  return text +
         "Which operators you replace, fuse or leave to PyTorch is up to you, and so is the algorithm.\n";
}

std::string example(const PromptOptions& options) {
  return fmt::format("\nFor instance, this module\n\n{}\ncan be replaced by\n\n{}", fenced(kModel),
                     fenced(in_triton(options) ? kInTriton : kInCuda));
}

const char* type_words(const std::string& precision) {
  if (precision == "bf16") return "torch.bfloat16";
  return precision == "fp16" ? "torch.float16" : "torch.float32";
}

std::string instruction(const PromptOptions& options) {
  const bool thinks = options.rule == "drkernel" || options.rule == "kevin";
  return fmt::format(
      "{}`ModelNew` takes the arguments of `Model`, in its constructor and in `forward`, and returns tensors "
      "of the "
      "same shapes and types. Its parameters and buffers have the names and shapes of those of `Model`, "
      "because they "
      "are loaded by name. {} one code block that can be imported as it is, without tests.\n",
      thinks ? "Think first about what bounds the time, and how the work is best divided. " : "",
      thinks ? "End with" : "Answer with");
}

bool has_example(const PromptOptions& options) { return options.rule != "zero_shot"; }

std::string asked(const PromptOptions& options, const env::Task& task, bool with_example) {
  return statement(options) + (with_example ? example(options) : "") +
         fmt::format("\nThe module to replace:\n\n{}\nAll floating-point tensors are {}.\n\n",
                     fenced(task.reference), type_words(task.module->precision)) +
         instruction(options);
}

bool is_plain(const PromptOptions& options, const env::Task& task) {
  return options.rule == "plain" || !task.module;
}

}  // namespace

void PromptOptions::visit(OptionVisitor& v) {
  v.option(
      "rule", rule,
      {.help =
           "how problems in PyTorch are asked. plain: the source and what to define; zero_shot, one_shot: as "
           "KernelBench does; drkernel: for kernels that take over the time, in several turns; kevin: in "
           "several turns, with the example in the first row alone",
       .choices = {"plain", "zero_shot", "one_shot", "drkernel", "kevin"}});
  v.option(
      "kernels", kernels,
      {.help =
           "what these rules ask kernels to be written in; auto is triton for drkernel, cuda for the others",
       .choices = {"auto", "cuda", "triton"}});
}

std::string task_prompt(const PromptOptions& options, const env::Task& task) {
  return is_plain(options, task) ? task.prompt() : asked(options, task, has_example(options));
}

std::string later_task_prompt(const PromptOptions& options, const env::Task& task) {
  if (is_plain(options, task)) return task.prompt();
  return asked(options, task, has_example(options) && options.rule != "kevin");
}

}  // namespace temper::rollout
