#pragma once
// Wherever a model's folder is expected, a run may be named instead, and stands for its last model.

#include <filesystem>
#include <string>

namespace temper::trainer {

struct FoundModel {
  std::filesystem::path dir;
  std::string choice =
      "";  // describes what was chosen in a run; empty if the named folder itself is the model
  std::string ignored =
      "";  // describes weights in the model's folder that are not read; empty if there are none
};

// Returns the folder itself if it contains a model or a checkpoint. For a run that has finished it returns
// checkpoints/final; for another run its newest checkpoint that is complete according to its manifest, or else final
// or cold_start. Nothing on disk is changed. Errors: ConfigError beginning with `field` if there is no such folder,
// if it is none of a model and has no tokenizer either, or if the run has no model yet.
FoundModel find_model(const std::string& path, const std::string& field);

}  // namespace temper::trainer
