#pragma once
// A policy and the tokenizer it speaks through: what a Hugging Face directory holds, and a checkpoint.

#include <filesystem>
#include <string>

#include "policy/parameters/not_finite.h"
#include "policy/policy.h"
#include "policy/text/tokenizer.h"

namespace temper {

struct Model {
  Policy policy;
  Tokenizer tokenizer;
  std::string generation_config = "";  // that file as it came, for whoever exports; empty: there was none
  NotFinite not_finite = {};           // of the numbers that were read
};

// From either. `chat_format`, if not empty, is the one that conversations with it will have. Errors:
// ConfigError if the directory is not a model that fits together or has not the tokens of the format, before
// its weights are read. Numbers that are not finite are counted: whoever learns from them asks
// check_learnable first.
Model load_model(const std::filesystem::path& dir, const PolicyOptions& options = {},
                 const std::string& chat_format = "");

// Errors: ConfigError where numbers that a run would learn from are not finite, unless that is `allowed`.
void check_learnable(const NotFinite& found, bool allowed);
// Says on standard error that there are some.
void warn_not_finite(const Model& model);

// Of a policy that draws this tokenizer's ids alone, however many rows it has.
PolicyOptions with_tokens(PolicyOptions options, const Tokenizer& tokenizer);

}  // namespace temper
