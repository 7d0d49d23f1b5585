#pragma once
// Which of a folder's files hold the weights that are read, where there are several copies of them.

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "policy/hugging_face/weight_index.h"

namespace temper::policy {

struct WeightChoice {
  std::optional<WeightIndex> index = {};  // of the files, if it lists them
  std::set<std::string> files = {};       // names in the folder
  std::string beside = "";                // an index of other files, which is not followed
};

// model.safetensors, or else the files that model.safetensors.index.json lists; no variant of them, and no file of
// another format. Source: transformers 5.17, modeling_utils.py, _get_resolved_checkpoint_files. Errors: ConfigError
// naming what lies there instead, or the files of the index that are missing.
WeightChoice choose_weights(const std::filesystem::path& dir);

// Describes the weights in the folder that choose_weights leaves unread; empty if there are none. Errors: as above.
std::string ignored_weights(const std::filesystem::path& dir);

}  // namespace temper::policy
