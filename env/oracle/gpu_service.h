#pragma once
// The GPU oracle as a process: descriptors and messages as in env/gpu/protocol.h.

#include <ATen/core/Tensor.h>

namespace temper::env {

// Answers requests until the socket closes. Tensors live on `device`, the device of the driver's memory.
[[noreturn]] void serve_gpu_oracle(int ordinal, at::Device device);

}  // namespace temper::env
