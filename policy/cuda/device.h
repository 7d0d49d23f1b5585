#pragma once
// The interface between CUDA and the rest of the policy, without CUDA's headers. If Temper was built without its code
// for GPUs, or finds no GPU, the functions that need one throw. Those that memory plans need (cuda_plan.cc) work
// everywhere.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policy/ops/adamw.h"

namespace temper::cuda {

// The number of GPUs; 0 if there is none, no suitable driver, or no code for GPUs in this build.
int gpu_count();
// Why gpu_count() is 0, for people.
std::string no_gpu_reason();

// Name and version of CUDA's libraries in use. Touches no GPU; empty in a build without code for GPUs.
std::vector<std::pair<std::string, std::string>> library_versions();
std::vector<std::string> gpu_names();  // names of the visible GPUs
// "cuda:0 is a NVIDIA A100 of compute capability 8.0: must be 9.0 (H100, H200)"; "" where the policy can
// compute there.
std::string unfit_gpu(int ordinal);

struct Gpu {
  std::string name;
  int64_t free_bytes, total_bytes;
  std::string libraries;  // versions of driver, CUDA, cuBLASLt, cuDNN
};
Gpu describe_gpu(int ordinal);

// Memory that the decoder allows for attention's backward and for what libraries allocate themselves.
int64_t attention_bytes(const Gpu& gpu);
constexpr int64_t kLibraryBytes = int64_t(2) << 30;  // contexts, kernels, workspaces of products

// Makes it the calling thread's device and gives that thread a stream of its own. Once per process.
// Errors: ConfigError if there is no such GPU; WorldError if it cannot be used.
void use_gpu(int ordinal);

// Names a field of the shape that the GPU path does not support, with its value and what it must be; empty if it
// supports the shape.
// A sliding window is known where no row is longer than it: `longest` is the longest row there will be, in
// tokens, 0: one of max_position_embeddings.
std::string unknown_to_gpu(const ModelConfig& config, int64_t longest = 0);

// Errors: ConfigError naming the window if a row of `tokens` would leave it.
void refuse_window(const ModelConfig& config, int64_t tokens);

// Errors: ConfigError with unknown_to_gpu's text. Of a window the decoder and the cache refuse the rows that
// leave it.
std::unique_ptr<Decoder> make_decoder(const ModelConfig& config, const PolicyOptions& options);
std::unique_ptr<CacheStorage> make_cache(const ModelConfig& config, int64_t slots, int64_t max_tokens);

// Counted by the layouts that hand the memory out, without a GPU; policy/layouts.h.
int64_t activation_bytes(const ModelConfig& config, int64_t tokens, int64_t scored, int64_t chunk,
                         bool recompute);
int64_t generation_bytes(const ModelConfig& config, int64_t sequences, int64_t prefill_tokens);

// Until the GPU has done all that this thread's stream was given.
void synchronize();

// What the allocator keeps of tensors that are gone: in front of a large one, which seldom fits into it.
void give_back_unused();

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

}  // namespace temper::cuda
