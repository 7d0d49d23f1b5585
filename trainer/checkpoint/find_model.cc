#include "trainer/checkpoint/find_model.h"

#include <algorithm>

#include "base/error.h"
#include "base/input/printable.h"
#include "policy/hugging_face/folder.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/model_config.h"
#include "trainer/checkpoint/find.h"
#include "trainer/checkpoint/restore.h"
#include "trainer/run/run_directory.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

// Whether the folder looks like a model. What is wrong with it is reported when it is read.
bool holds_model(const fs::path& dir) {
  std::error_code error;
  return fs::symlink_status(dir / "config.json", error).type() != fs::file_type::not_found;
}

// The way out for those who name a file of a model.
std::string folder_of_file(const fs::path& file) {
  const fs::path folder = fs::absolute(file).parent_path();
  return holds_model(folder) ? fmt::format("; name the model's folder, {}", printable(folder.string()))
                             : "; a model is a folder with config.json, safetensors and a tokenizer";
}

// Tokenizers alone are of use too.
void check_holds_something(const std::string& path, const std::string& field) try {
  for (const char* name : {"tokenizer.json", "tokenizer.model"})
    if (fs::exists(fs::symlink_status(fs::path(path) / name))) return;
  policy::check_model_folder(path);
} catch (const ConfigError& e) {
  throw ConfigError("{}: {}", field, e.what());
}

// What is wrong with the weights is reported by those who read them.
std::string ignored_in(const fs::path& dir) try {
  return is_checkpoint(dir) ? "" : policy::ignored_weights(dir);
} catch (const ConfigError&) {
  return "";
}

void check_folder(const std::string& path, const std::string& field) {
  std::error_code error;
  if (fs::is_directory(path, error)) return;
  if (fs::exists(path, error))
    throw ConfigError("{}: {} is not a folder{}", field, printable(path), folder_of_file(path));
  if (const std::string advice = policy::hub_advice(path); !advice.empty())
    throw ConfigError("{}: {}", field, advice);
  throw ConfigError("{}: {}: no such folder", field, printable(path));
}

bool is_whole(const fs::path& checkpoint) try {
  read_checkpoint(checkpoint);
  return true;
} catch (const std::exception&) {
  return false;
}

// Empty: it has none.
fs::path last_model(const fs::path& run) {
  const fs::path folder = run / "checkpoints", end = folder / "final", taught = folder / "cold_start";
  if (came_to_its_end(run) && holds_model(end)) return end;
  for (const fs::path& checkpoint : checkpoints_in(folder))
    if (is_of_a_step(checkpoint) && is_whole(checkpoint)) return checkpoint;
  for (const fs::path& exported : {end, taught})
    if (holds_model(exported)) return exported;
  for (const fs::path& checkpoint : checkpoints_in(folder))
    if (is_whole(checkpoint)) return checkpoint;
  return "";
}

}  // namespace

FoundModel find_model(const std::string& path, const std::string& field) {
  check_folder(path, field);
  fs::path run = path;
  if (holds_model(run)) return {.dir = run, .ignored = ignored_in(run)};
  if (!run.has_filename()) run = run.parent_path();
  if (run.filename() == "checkpoints") run = run.parent_path();
  if (!fs::is_directory(run / "checkpoints")) {
    check_holds_something(path, field);
    return {path};
  }
  const fs::path found = last_model(run);
  if (found.empty()) throw ConfigError("{}: the run {} has no whole model yet", field, printable(path));
  return {found, fmt::format("{} is a run: its {} is taken", path, found.lexically_relative(run).string())};
}

}  // namespace temper::trainer
