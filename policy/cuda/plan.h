#pragma once
// What memory plans need to know about a GPU: which shapes it supports and how much memory they take. This is computed
// without CUDA, so that a machine without GPUs can plan for another one.

#include <cstdint>
#include <string>

#include "policy/cuda/device.h"
#include "policy/keep.h"
#include "policy/model_config.h"

namespace temper::policy::cuda {

// Memory that the decoder allows for attention's backward and for what libraries allocate themselves.
int64_t attention_bytes(const Gpu& gpu);
constexpr int64_t kLibraryBytes = int64_t(2) << 30;  // contexts, kernels, workspaces of products

// Names a field of the shape that the GPU path does not support, with its value and what it must be; empty if it
// supports the shape.
// A sliding window is known where no row is longer than it: `longest` is the longest row there will be, in
// tokens, 0: one of max_position_embeddings.
std::string unknown_to_gpu(const ModelConfig& config, int64_t longest = 0);

// Errors: ConfigError naming the window if a row of `tokens` would leave it.
void refuse_window(const ModelConfig& config, int64_t tokens);

// Counted by the layouts that hand the memory out, without a GPU; policy/layouts.h.
int64_t activation_bytes(const ModelConfig& config, int64_t tokens, int64_t scored, int64_t chunk,
                         const KeepByBlock& keep, int64_t copies = 0);
int64_t offloaded_bytes(const ModelConfig& config, int64_t tokens, const KeepByBlock& keep);
int64_t generation_bytes(const ModelConfig& config, int64_t sequences, int64_t prefill_tokens);

}  // namespace temper::policy::cuda
