#pragma once
// Where a model is asked for, a run may be named: then its last model is meant.

#include <filesystem>
#include <string>

namespace temper {

struct FoundModel {
  std::filesystem::path dir;
  std::string choice = "";  // what was taken of a run, for people; empty: the folder that was named
};

// The folder itself if it holds a model or a checkpoint. Of a run that came to its end checkpoints/final; of
// one that did not its newest checkpoint that is whole, by what its manifest says of its files; else final or
// cold_start. Nothing is changed. Errors: ConfigError beginning with `field` where there is no such folder,
// or the run has no model yet.
FoundModel find_model(const std::string& path, const std::string& field);

}  // namespace temper
