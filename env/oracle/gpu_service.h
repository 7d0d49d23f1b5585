#pragma once
// The GPU oracle as a process: descriptors and messages as in env/gpu/protocol.h.

#include <ATen/core/Tensor.h>

namespace temper {

// Answers until its socket closes. Tensors live on `device`, which is where the driver's memory lies.
[[noreturn]] void serve_gpu_oracle(int ordinal, at::Device device);

}  // namespace temper
