#pragma once
// What a plan asks of a GPU: which shapes it knows and how much memory they take. Counted without CUDA, so
// that a machine without GPUs plans for one that has some.

#include <cstdint>
#include <string>

#include "policy/cuda/device.h"
#include "policy/model_config.h"

namespace temper::cuda {

// What the decoder allows attention's backward, and libraries take besides.
int64_t attention_bytes(const Gpu& gpu);
constexpr int64_t kLibraryBytes = int64_t(2) << 30;  // contexts, kernels, workspaces of products

// The field of a shape that the GPU path does not know, its value, and what it must be; empty: it knows all.
// A sliding window is known where no row is longer than it: `longest` is the longest row there will be, in
// tokens, 0: one of max_position_embeddings.
std::string unknown_to_gpu(const ModelConfig& config, int64_t longest = 0);

// Errors: ConfigError naming the window if a row of `tokens` would leave it.
void refuse_window(const ModelConfig& config, int64_t tokens);

// Counted by the layouts that hand the memory out, without a GPU; policy/layouts.h.
int64_t activation_bytes(const ModelConfig& config, int64_t tokens, int64_t scored, int64_t chunk,
                         bool recompute);
int64_t generation_bytes(const ModelConfig& config, int64_t sequences, int64_t prefill_tokens);

}  // namespace temper::cuda
