// KernelBench's format: a Python file with a `class ModelNew` of PyTorch, whose kernels are in Triton or in CUDA that
// torch.utils.cpp_extension compiles.
//
// Tasks and candidates declare their arguments in Python alone, so there are no parameters to write down.

#include "env/languages/language.h"

namespace temper::env {
namespace {

std::string signature(const std::vector<CallParameter>&) { return "class ModelNew(nn.Module):"; }

}  // namespace

const Language kKernelBench{
    .name = "kernelbench",
    .fence = "python",
    .fence_words = {"python", "python3", "py", "triton"},
    .form = Form::kModule,
    .extension = ".py",
    .comment = "#",
    .on_gpu = true,
    .short_floats = true,
    .compiler_flags = {},
    .newer_flags = {},
    .entry_point = "ModelNew",
    .entry_symbol = "ModelNew",
    .no_entry_words = "the class asked for, ModelNew, is not defined",
    .signature = signature,
};

}  // namespace temper::env
