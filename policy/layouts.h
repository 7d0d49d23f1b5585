#pragma once
// What a policy of a shape takes, counted by the layouts that hand the memory out: without a device, without
// weights. Errors of those for a GPU: ConfigError where Temper is built without CUDA.

#include <cstdint>

#include "policy/calls.h"
#include "policy/model_config.h"

namespace temper {

// Of forward_backward over `tokens` tokens.
int64_t activation_bytes(const ModelConfig& config, const PolicyOptions& options, int64_t tokens,
                         int64_t scored);

// On a GPU, of a decode step of so many sequences and of a prefill of `prefill_tokens`, keys and values left
// out.
int64_t generation_bytes(const ModelConfig& config, int64_t sequences, int64_t prefill_tokens);

// On a GPU, of attention's backward over sequences of at most `tokens` tokens, where it may take `wanted`
// bytes: the scores of as few whole key heads as have a multiple of four query heads at least, [heads, T, T]
// bf16.
int64_t attention_backward_bytes(const ModelConfig& config, int64_t tokens, int64_t wanted);

// What the model itself asks of a forward pass over one sequence of `tokens` tokens, however it is computed.
// Multiply-adds of products count 2 and all else nothing: no look-up in the embedding, no norm, no softmax. A
// token attends to the tokens before it and to itself, about half of the sequence, or to a layer's window of
// them; `scored` tokens go through the head, be it tied or not. Backward counts twice the forward. Source:
// Chowdhery et al., "PaLM" (2022), appendix B; the causal half as in Dao, "FlashAttention-2" (2023), section
// 4.1.
double forward_flops(const ModelConfig& config, int64_t tokens, int64_t scored);

// The same a token, forward and backward, each token scored. `context`: keys that a token attends to on
// average.
double train_flops_per_token(const ModelConfig& config, int64_t context);

}  // namespace temper
