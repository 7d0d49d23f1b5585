#pragma once
// Hugging Face directories in and out: config.json, safetensors, tokenizer files. transformers, vLLM and
// SGLang load what is written here as it is.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "policy/parameters/not_finite.h"
#include "policy/policy.h"
#include "policy/text/tokenizer.h"

namespace temper::policy {

// What is kept of the folder that a model came from, beside its shape, weights and tokenizer.
struct Origin {
  std::string dtype = "";              // that exports are stored in; empty: none is known
  std::string generation_config = "";  // that file's content; empty: there was none
  // Ids of config.json; none where it says nothing of them, as in those of generation_config.json, which go first.
  std::optional<int32_t> begin = {}, pad = {};
  std::vector<int32_t> end = {}, generation_end = {};
};

struct ExportOptions {
  std::string dtype = "";               // float32, float64, bfloat16 or float16; empty: the policy's own
  int64_t shard_bytes = 5'000'000'000;  // most bytes of weights in one file, unless a single tensor is larger
  Origin origin = {};
  bool taught = false;  // the model has learned conversations in the tokenizer's chat format
};

// Writes the directory beside and renames it: never half of one. The weights are converted and written piece
// by piece, on several threads. Errors: WorldError naming the path; ConfigError of an unknown dtype, or naming a weight
// that the dtype cannot hold.
void export_hugging_face(const Policy& policy, const Tokenizer& tokenizer, const std::filesystem::path& dir,
                         const ExportOptions& options = {});

// config.json, generation_config.json and the tokenizer's files: all but the weights. Without a dtype among the options,
// config.json remembers that of the origin. Errors: as above.
void export_shape(const Policy& policy, const Tokenizer& tokenizer, const std::filesystem::path& dir,
                  const ExportOptions& options = {});

// The same from a directory's files, without a policy: no more than pieces of the weights are in memory. An
// empty dtype is that of the first parameter there. Returns what of the written numbers is not finite.
// Errors: as import_policy's and as above.
NotFinite copy_hugging_face(const std::filesystem::path& from, const Tokenizer& tokenizer,
                            const std::filesystem::path& dir, const ExportOptions& options = {});

// Called on all ranks: each reads its share of the weights, on several threads, and gets the others' from
// them. Errors: ConfigError naming the file, the tensor, what was found and what was expected; names, shapes
// and dtypes of all files are compared before memory for the weights is asked for. Numbers that are not
// finite are refused likewise, or counted over all ranks where `not_finite` is given.
Policy import_policy(const std::filesystem::path& dir, const PolicyOptions& options,
                     NotFinite* not_finite = nullptr);

// What import_policy would refuse, as far as the headers of the files tell: names, shapes and dtypes, none of
// the weights. Errors: as import_policy's.
void check_weights(const std::filesystem::path& dir, const ModelConfig& config);

// Describes weights in the folder that are not those that are read, in one line; empty if there are none. Errors:
// ConfigError if the folder has no weights that can be read.
std::string ignored_weights(const std::filesystem::path& dir);

// What config.json says that the weights are stored in: bfloat16, …; empty: it does not say.
std::string stored_dtype(const std::filesystem::path& dir);

// What a folder says of itself: the dtype of exports is what an earlier run remembered there, else that of config.json,
// else that of the first weight. Errors: ConfigError if config.json or generation_config.json is not a JSON object.
Origin read_origin(const std::filesystem::path& dir);

// Errors: ConfigError if the tokenizer has more ids than the policy has rows.
void check_tokenizer_fits(const Tokenizer& tokenizer, const ModelConfig& config);

}  // namespace temper::policy
