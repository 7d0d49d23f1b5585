#pragma once
// Names in files of weights beside those of the network's parameters.

#include <string>
#include <string_view>

namespace temper::policy {

// Whether the tensor is a buffer that follows from config.json, which older programs stored: inv_freq of the rotary
// embedding, the mask of attention. transformers skips them too. Source: transformers 5.17, modeling_utils.py,
// _adjust_missing_and_unexpected_keys, and _keys_to_ignore_on_load_unexpected of GPT-2 and GPT-NeoX.
bool is_ignored_buffer(std::string_view tensor);

// Whether the name or the dtype is one that quantised weights have: GPTQ, AWQ, fp8, bitsandbytes, compressed-tensors.
bool is_of_quantised(std::string_view tensor, std::string_view dtype);

}  // namespace temper::policy
