#pragma once
// The memory and arithmetic that a policy of a given shape needs. Memory is counted by the same layouts that hand it
// out, without a device and without weights. Errors of the functions for GPUs: ConfigError in a build without CUDA.

#include <cstdint>

#include "policy/calls.h"
#include "policy/model_config.h"

namespace temper::policy {

// Bytes of the activations of forward_backward over `tokens` tokens. `key_copies`: the lengths of all sequences, prefixes
// included, added up, if some of them continue others.
int64_t activation_bytes(const ModelConfig& config, const PolicyOptions& options, int64_t tokens,
                         int64_t scored, int64_t key_copies = 0);

// Bytes of the host's memory to which a GPU offloads such activations.
int64_t offloaded_bytes(const ModelConfig& config, const PolicyOptions& options, int64_t tokens);

// Bytes that a GPU needs for a decode step of `sequences` sequences and a prefill of `prefill_tokens`, without keys
// and values.
int64_t generation_bytes(const ModelConfig& config, int64_t sequences, int64_t prefill_tokens);

// On a GPU, of attention's backward over sequences of at most `tokens` tokens, where it may take `wanted`
// bytes: the scores of as few whole key heads as have a multiple of four query heads at least, [heads, T, T]
// bf16.
int64_t attention_backward_bytes(const ModelConfig& config, int64_t tokens, int64_t wanted);

// Floating-point operations of a forward pass over one sequence of `tokens` tokens, independent of how it is
// computed. A multiply-add of a product counts as 2; embedding look-up, norms and softmax count as 0. A token
// attends to itself and the tokens before it, about half of the sequence, or to a layer's window of them; `scored`
// tokens go through the head, tied or not. The backward counts as twice the forward. Source:
// Chowdhery et al., "PaLM" (2022), appendix B; the causal half as in Dao, "FlashAttention-2" (2023), section
// 4.1.
double forward_flops(const ModelConfig& config, int64_t tokens, int64_t scored);

// Floating-point operations per token of forward and backward, if every token is scored. `context` is the average
// number of keys that a token attends to.
double train_flops_per_token(const ModelConfig& config, int64_t context);

}  // namespace temper::policy
