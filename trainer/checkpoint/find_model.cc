#include "trainer/checkpoint/find_model.h"

#include <algorithm>

#include "base/error.h"
#include "base/input/printable.h"
#include "policy/model_config.h"
#include "trainer/checkpoint/find.h"
#include "trainer/run/run_directory.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

// Whether the folder looks like a model. What is wrong with it is reported when it is read.
bool holds_model(const fs::path& dir) {
  std::error_code error;
  return fs::symlink_status(dir / "config.json", error).type() != fs::file_type::not_found;
}

void check_folder(const std::string& path, const std::string& field) {
  std::error_code error;
  if (fs::is_directory(path, error)) return;
  if (fs::exists(path, error)) throw ConfigError("{}: {} is not a folder", field, printable(path));
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
  if (holds_model(run)) return {run};
  if (!run.has_filename()) run = run.parent_path();
  if (run.filename() == "checkpoints") run = run.parent_path();
  if (!fs::is_directory(run / "checkpoints")) return {path};
  const fs::path found = last_model(run);
  if (found.empty()) throw ConfigError("{}: the run {} has no whole model yet", field, printable(path));
  return {found, fmt::format("{} is a run: its {} is taken", path, found.lexically_relative(run).string())};
}

}  // namespace temper::trainer
