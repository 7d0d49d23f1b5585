#include "env/task/hub_cache.h"

#include <system_error>

#include "base/error.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModels = "models--";

bool holds_models(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error))
    if (entry->path().filename().string().starts_with(kModels)) return true;
  return false;
}

}  // namespace

fs::path hub_folder(const std::string& cache) {
  const fs::path hub = fs::path(cache) / "hub";
  if (holds_models(hub)) return hub;
  const char* const expected =
      "must be a cache of Hugging Face, a folder as HF_HOME names it that holds hub/models--OWNER--NAME; "
      "`HF_HOME=DIR hf download OWNER/NAME` makes one";
  if (!fs::is_directory(cache)) throw ConfigError("env.huggingface: {} is no folder: {}", cache, expected);
  if (holds_models(cache))
    throw ConfigError("env.huggingface: {} holds models--… itself: name the folder around it, {}", cache,
                      fs::absolute(fs::path(cache) / "").parent_path().parent_path().string());
  throw ConfigError("env.huggingface: {} holds no hub/models--…: {}", cache, expected);
}

bool holds_repository(const std::string& cache, const std::string& repository) {
  std::string name = repository;
  for (size_t at = name.find('/'); at != name.npos; at = name.find('/', at)) name.replace(at, 1, "--");
  return fs::is_directory(hub_folder(cache) / (kModels + name) / "snapshots");
}

}  // namespace temper::env
