#pragma once
// tokenizer.json of `tokenizers` with a byte-level BPE: Qwen, Llama 3, Mistral's tekken, GPT-2.

#include <string>

#include "policy/text/text_encoder.h"

namespace temper::policy {

// Reads the content of a tokenizer.json. Anything that would change ids and is not implemented is refused by name:
// other models, normalisers, pre-tokenizers and patterns. Errors: ConfigError naming `origin`, the field and what is
// supported.
TokenizerParts read_byte_level_json(const std::string& content, const std::string& origin);

// Whether the content describes a byte-level tokenizer. Errors: ConfigError naming `origin` if it is not a JSON
// object.
bool is_byte_level_json(const std::string& content, const std::string& origin);

}  // namespace temper::policy
