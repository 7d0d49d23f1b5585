#include "policy/hugging_face/weight_choice.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/input/printable.h"
#include "policy/hugging_face/folder.h"

namespace temper::policy {
namespace fs = std::filesystem;
namespace {

constexpr const char *kSingle = "model.safetensors", *kIndex = "model.safetensors.index.json";

bool exists_here(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

void check_listed_files(const fs::path& dir, const std::set<std::string>& files) {
  std::vector<std::string> missing;
  for (const std::string& file : files)
    if (!exists_here(dir / file)) missing.push_back(file);
  if (!missing.empty())
    throw ConfigError(
        "{}: no such file, although {} lists it ({} of {} files are missing); `hf download` fetches them",
        (dir / missing.front()).string(), kIndex, missing.size(), files.size());
}

// Of a model, not of the state of a training. Folders: original has the makers' format.
bool is_of_weights(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  std::error_code error;
  if (entry.is_directory(error)) return name == "original";
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  if (ends(".safetensors") || ends(".gguf") || ends(".h5") || ends(".msgpack") || ends(".onnx")) return true;
  if (name.find(".index.") != std::string::npos && ends(".json")) return true;
  return (name.starts_with("pytorch_model") || name.starts_with("consolidated") ||
          name.starts_with("model")) &&
         (ends(".bin") || ends(".pth") || ends(".pt"));
}

std::string named(const std::vector<std::string>& names) {
  constexpr size_t kMost = 4;
  if (names.size() <= kMost) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kMost, ", "),
                     names.size() - kMost);
}

}  // namespace

WeightChoice choose_weights(const fs::path& dir) {
  const bool has_index = exists_here(dir / kIndex);
  std::error_code error;
  const bool single = fs::is_regular_file(dir / kSingle, error) || (!has_index && exists_here(dir / kSingle));
  if (!single && !has_index) throw ConfigError("{}", why_no_weights(dir));
  WeightChoice choice;
  if (has_index) choice.index = read_weight_index(dir / kIndex);
  if (choice.index)
    for (const auto& [tensor, file] : choice.index->files) choice.files.insert(file);
  if (!single || choice.files == std::set<std::string>{kSingle}) {
    check_listed_files(dir, choice.files);
    return choice;
  }
  return {.files = {kSingle}, .beside = has_index ? kIndex : ""};
}

std::string ignored_weights(const fs::path& dir) {
  const WeightChoice choice = choose_weights(dir);
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(dir, error), end; at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool read = choice.files.contains(name) || (choice.index && name == kIndex);
    if (!read && is_of_weights(*at)) names.push_back(printable(name) + (at->is_directory(error) ? "/" : ""));
  }
  if (names.empty()) return "";
  std::ranges::sort(names, {},
                    [](const std::string& name) { return std::pair(!name.ends_with(".json"), name); });
  return fmt::format("{}: the weights are read from {}; ignored, as by transformers: {}", dir.string(),
                     choice.index ? std::string(kIndex) : *choice.files.begin(), named(names));
}

}  // namespace temper::policy
