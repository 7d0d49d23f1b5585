#pragma once
// What a policy of a shape takes, counted by the layouts that hand the memory out: without a device, without
// weights. Errors of those for a GPU: ConfigError where Temper is built without CUDA.

#include <cstdint>

#include "policy/model_config.h"
#include "policy/policy.h"

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

// `context`: keys that a token attends to on average. Multiply-adds count 2; backward counts twice the
// forward.
double train_flops_per_token(const ModelConfig& config, int64_t context);

}  // namespace temper
