#pragma once
// What the rest of the policy knows of CUDA: declarations alone. Where Temper is built without its code for
// GPUs, or finds no GPU, what computes or asks a GPU throws; what a plan asks (plan.h) is answered
// everywhere.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policy/ops/adamw.h"

namespace temper::policy {
class StageCopies;
}  // namespace temper::policy

namespace temper::policy::cuda {

// The number of GPUs; 0 if there is none, no suitable driver, or no code for GPUs in this build.
int gpu_count();
// Why gpu_count() is 0, for people.
std::string no_gpu_reason();

// Name and version of CUDA's libraries in use. Touches no GPU; empty in a build without code for GPUs.
std::vector<std::pair<std::string, std::string>> library_versions();
std::vector<std::string> gpu_names();  // of those that are visible
// "cuda:0 is a NVIDIA A100 of compute capability 8.0: must be 9.0 (H100, H200)"; "" where the policy can
// compute there.
std::string unfit_gpu(int ordinal);

struct Gpu {
  std::string name;
  int64_t free_bytes, total_bytes;
  std::string libraries;  // versions of driver, CUDA, cuBLASLt, cuDNN
};
Gpu describe_gpu(int ordinal);

// Makes it the calling thread's device and gives that thread a stream of its own. Once per process.
// Errors: ConfigError if there is no such GPU; WorldError if it cannot be used.
void use_gpu(int ordinal);

// Until the GPU has done all that this thread's stream was given.
void synchronize();

// What the allocator keeps of tensors that are gone: in front of a large one, which seldom fits into it.
void give_back_unused();

// Zeros [size] on the host that the GPU reads and writes by itself. Errors: WorldError naming the size and `what` it is for.
at::Tensor host_zeros(int64_t size, at::ScalarType type, const char* what);
// Between such memory and the GPU, beside the calling thread's stream (parameters/stage_copies.h).
std::unique_ptr<StageCopies> make_stage_copies(int stages);

// The most bytes at once, since the start, that tensors of this process took on the calling thread's device,
// and that the allocator kept for them.
struct PeakMemory {
  int64_t allocated_bytes = 0, reserved_bytes = 0;
};
PeakMemory peak_memory();

double squared_norm(const at::Tensor& values);
void adamw(const at::Tensor& master, const at::Tensor& weights, const at::Tensor& gradients,
           const at::Tensor& moment1, const at::Tensor& moment2, const AdamWFactors& factors);
void fill_normal(const at::Tensor& values, uint64_t key, double std);

}  // namespace temper::policy::cuda
