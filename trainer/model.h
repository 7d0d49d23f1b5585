#pragma once
// A policy and the tokenizer it speaks through: what a Hugging Face directory holds, and a checkpoint.

#include <filesystem>
#include <string>

#include "policy/policy.h"
#include "policy/tokenizer.h"

namespace temper {

struct Model {
  Policy policy;
  Tokenizer tokenizer;
  std::string generation_config = "";  // that file as it came, for whoever exports; empty: there was none
};

// From either. `chat_format`, if not empty, is the one that conversations with it will have. Errors:
// ConfigError if the directory is not a model that fits together or has not the tokens of the format, before
// its weights are read.
Model load_model(const std::filesystem::path& dir, const PolicyOptions& options = {},
                 const std::string& chat_format = "");

// Of a policy that draws this tokenizer's ids alone, however many rows it has.
PolicyOptions with_tokens(PolicyOptions options, const Tokenizer& tokenizer);

}  // namespace temper
