#pragma once
// NCCL between GPUs, on the calling thread's current device.

#include <functional>
#include <memory>
#include <string>

#include "policy/ranks/transport.h"

namespace temper::policy {

// `from_rank_0` gives every rank the text that rank 0 hands in.
// Errors: WorldError with NCCL's text; where Temper is built without CUDA.
std::unique_ptr<GpuTransport> make_nccl_transport(int rank, int size,
                                                  const std::function<std::string(std::string)>& from_rank_0);

std::string nccl_version();  // "2.28.9"; "" where Temper is built without CUDA

}  // namespace temper::policy
