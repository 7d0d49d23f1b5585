#pragma once
// The names that a reference may use: torch, torch.nn.functional, F and math.

#include <torch/csrc/jit/frontend/resolver.h>

namespace temper::env {

torch::jit::ResolverPtr torch_names();

}  // namespace temper::env
