#pragma once
// tokenizer.json of `tokenizers` with a byte-level BPE: Qwen, Llama 3, Mistral's tekken, GPT-2.

#include <string>

#include "policy/text/text_encoder.h"

namespace temper {

// `content` is the file's. What changes ids and is not built here is refused by name: other models,
// normalisers, pre-tokenizers and patterns. Errors: ConfigError naming `origin`, the field and what is
// supported.
TokenizerParts read_byte_level_json(const std::string& content, const std::string& origin);

// Whether it describes such a tokenizer at all. Errors: ConfigError naming `origin` if it is not a JSON
// object.
bool is_byte_level_json(const std::string& content, const std::string& origin);

}  // namespace temper
