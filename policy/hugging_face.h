#pragma once
// Hugging Face directories in and out: config.json, safetensors, tokenizer files. transformers, vLLM and
// SGLang load what is written here as it is.

#include <filesystem>

#include "policy/policy.h"
#include "policy/tokenizer.h"

namespace temper {

// Writes the directory beside and renames it: never half of one. Errors: WorldError naming the path.
void export_hugging_face(const Policy& policy, const Tokenizer& tokenizer, const std::filesystem::path& dir);

// config.json and the tokenizer's files: all but the weights. Errors: WorldError naming the path.
void export_shape(const Policy& policy, const Tokenizer& tokenizer, const std::filesystem::path& dir);

// Errors: ConfigError naming the file, the tensor, what was found and what was expected. Nothing of the
// file's header is believed before it is checked against the file's size.
Policy import_policy(const std::filesystem::path& dir, const PolicyOptions& options);

// What import_policy would refuse, as far as the headers of the files tell: names, shapes and dtypes, none of
// the weights. Errors: as import_policy's.
void check_weights(const std::filesystem::path& dir, const ModelConfig& config);

// Errors: ConfigError if the tokenizer has more ids than the policy has rows.
void check_tokenizer_fits(const Tokenizer& tokenizer, const ModelConfig& config);

}  // namespace temper
