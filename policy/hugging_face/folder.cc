#include "policy/hugging_face/folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/input/file.h"
#include "base/input/json.h"
#include "base/input/printable.h"

namespace temper::policy {
namespace fs = std::filesystem;

const char* const kUnquantised = "take the folder of the model before it was quantised";

namespace {

constexpr size_t kMostEntries = 20'000, kMostNamed = 3;

// Names of what lies in the folder; none where it cannot be read.
std::set<std::string> names_in(const fs::path& dir) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(dir, error), end; at != end && names.size() < kMostEntries;
       at.increment(error))
    names.insert(at->path().filename().string());
  return names;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

template <class Want>
std::string first_name(const std::set<std::string>& names, const Want& want) {
  const auto found = std::ranges::find_if(names, want);
  return found == names.end() ? "" : printable(*found);
}

std::string ending_in(const std::set<std::string>& names, std::string_view end) {
  return first_name(names, [&](const std::string& name) { return name.ends_with(end); });
}

// Without a word of what it might be: its own file is not readable.
std::string base_model(const fs::path& adapter_config) try {
  const auto json = read_json(adapter_config);
  const auto name = json.is_object() ? json.find("base_model_name_or_path") : json.end();
  return name != json.end() && name->is_string() ? " of " + printable(name->get<std::string>()) : "";
} catch (const ConfigError&) {
  return "";
}

std::string about_adapter(const fs::path& dir) {
  if (!is_there(dir / "adapter_config.json")) return "";
  return fmt::format(
      "{}: holds an adapter{} (adapter_config.json), which is not read: merge it into its model with peft's "
      "merge_and_unload(), save that with save_pretrained(), and name the folder saved",
      dir.string(), base_model(dir / "adapter_config.json"));
}

// The commit that the cache would take; empty if none is there.
fs::path snapshot_in(const fs::path& cache) {
  const fs::path snapshots = cache / "snapshots", ref = cache / "refs" / "main";
  if (std::error_code error; fs::is_regular_file(ref, error)) try {
      const std::string hash = read_input_file(ref, 1000);
      if (hash.find('/') == std::string::npos && is_there(snapshots / hash / "config.json"))
        return snapshots / hash;
    } catch (const ConfigError&) {
    }
  for (const std::string& name : names_in(snapshots))
    if (is_there(snapshots / name / "config.json")) return snapshots / name;
  return {};
}

std::string about_cache(const fs::path& dir) {
  const fs::path cache = dir.filename() == "snapshots" ? dir.parent_path() : dir;
  if (!is_folder(cache / "snapshots") || (!is_folder(cache / "blobs") && !is_folder(cache / "refs")))
    return "";
  const fs::path found = snapshot_in(cache);
  if (found.empty())
    return fmt::format(
        "{}: is a model's folder in the hub's cache, with no whole snapshot; `hf download` fetches it",
        dir.string());
  return fmt::format("{}: is a model's folder in the hub's cache; the model is in {}: name that",
                     dir.string(), found.string());
}

// Models in folders within this one, no deeper than the hub's cache has them.
void find_inside(const fs::path& dir, int depth, std::vector<std::string>& found) {
  for (const std::string& name : names_in(dir)) {
    const fs::path inside = dir / name;
    if (found.size() > kMostNamed) return;
    if (!is_folder(inside) || fs::is_symlink(inside)) continue;
    if (const fs::path snapshot = snapshot_in(inside); !snapshot.empty())
      found.push_back(snapshot.string());
    else if (is_there(inside / "config.json") || is_there(inside / "adapter_config.json"))
      found.push_back(inside.string());
    else if (depth > 1)
      find_inside(inside, depth - 1, found);
  }
}

std::string about_inside(const fs::path& dir) {
  constexpr int kDepth = 2;
  std::vector<std::string> found;
  find_inside(dir, kDepth, found);
  if (found.empty()) return "";
  const bool more = found.size() > kMostNamed;
  found.resize(std::min(found.size(), kMostNamed));
  return fmt::format("{}: holds no model itself (config.json: no such file); name the folder within: {}{}",
                     dir.string(), fmt::join(found, " or "), more ? " or another" : "");
}

// hf, git, browsers and aria2 leave such names beside what they have not finished.
std::string about_download(const fs::path& dir) {
  for (const fs::path& place : {dir, dir / ".cache" / "huggingface" / "download"})
    for (const char* end : {".incomplete", ".crdownload", ".part", ".aria2"})
      if (const std::string name = ending_in(names_in(place), end); !name.empty())
        return fmt::format(
            "{}: the download has not ended: {} is there; the same `hf download` goes on with it",
            dir.string(), (place.lexically_relative(dir) / name).lexically_normal().string());
  return "";
}

bool is_torch_file(const std::string& name) {
  return (name.starts_with("pytorch_model") &&
          (name.ends_with(".bin") || name.ends_with(".bin.index.json"))) ||
         (name.starts_with("model") &&
          (name.ends_with(".pt") || name.ends_with(".pth") || name.ends_with(".bin")));
}

// Meta's and Mistral's own programs have params.json.
bool is_makers_file(const std::string& name) {
  return name == "params.json" || name == "original" || name.starts_with("consolidated.");
}

std::string about_format(const fs::path& dir, const std::set<std::string>& names) {
  constexpr std::string_view kTheModel = "name the model's folder with config.json and model.safetensors";
  if (const std::string found = first_name(names, is_torch_file); !found.empty())
    return fmt::format(
        "{}: holds its weights as {}, and safetensors are read alone; in Python, "
        "transformers.AutoModelForCausalLM.from_pretrained({}, dtype=\"auto\").save_pretrained(OUT) converts "
        "them",
        dir.string(), found, shown(dir.string()));
  if (const std::string found = ending_in(names, ".gguf"); !found.empty())
    return fmt::format("{}: holds {}, and gguf is not read: {} from which it was made", dir.string(), found,
                       kTheModel);
  if (const std::string found = first_name(names, is_makers_file); !found.empty())
    return fmt::format("{}: holds {}, as the makers' own programs read it; {}, which `hf download` fetches",
                       dir.string(), found, kTheModel);
  for (const char* end : {".h5", ".msgpack", ".onnx", ".ckpt", ".npz", ".nemo", ".pth", ".pt", ".bin"})
    if (const std::string found = ending_in(names, end); !found.empty())
      return fmt::format("{}: holds {}, which is not read: {}", dir.string(), found, kTheModel);
  return "";
}

// model.fp16.safetensors, model.safetensors.index.fp16.json
std::string about_variant(const fs::path& dir, const std::set<std::string>& names) {
  constexpr std::string_view kIndex = "model.safetensors.index.", kJson = ".json";
  for (const std::string& name : names) {
    std::string_view rest = name;
    if (name.starts_with(kIndex) && name.ends_with(kJson) && name.size() > kIndex.size() + kJson.size())
      rest = rest.substr(kIndex.size(), name.size() - kIndex.size() - kJson.size() + 1);
    else if (name.starts_with("model.") && name.ends_with(".safetensors"))
      rest = rest.substr(6);
    else
      continue;
    const std::string variant = printable(rest.substr(0, rest.find('.')));
    return fmt::format(
        "{}: holds {}, a variant; in Python, transformers.AutoModelForCausalLM.from_pretrained({}, "
        "variant=\"{}\", "
        "dtype=\"auto\").save_pretrained(OUT) gives it the usual names",
        dir.string(), printable(name), shown(dir.string()), variant);
  }
  return "";
}

// Shards, but not the index that says what is in them.
std::string about_shards(const fs::path& dir, const std::set<std::string>& names) {
  const std::string shard = first_name(names, [](const std::string& name) {
    return name.starts_with("model-") && name.ends_with(".safetensors");
  });
  if (shard.empty()) return "";
  return fmt::format(
      "{}: holds {} but no model.safetensors.index.json, which says what is in which file; `hf download` "
      "fetches it",
      dir.string(), shard);
}

std::string first_of(std::initializer_list<std::string> reasons) {
  const auto found = std::ranges::find_if(reasons, [](const std::string& text) { return !text.empty(); });
  return found == reasons.end() ? "" : *found;
}

}  // namespace

void check_model_folder(const fs::path& dir) {
  if (!is_folder(dir)) return;  // those who open its files say so
  if (const std::string adapter = about_adapter(dir); !adapter.empty()) throw ConfigError("{}", adapter);
  if (is_there(dir / "config.json")) return;
  const std::set<std::string> names = names_in(dir);
  if (names.empty())
    throw ConfigError("{}: is empty; `hf download ORGANISATION/MODEL --local-dir {}` fetches a model",
                      dir.string(), dir.string());
  const std::string reason =
      first_of({about_cache(dir), about_download(dir), about_inside(dir), about_format(dir, names)});
  if (!reason.empty()) throw ConfigError("{}", reason);
  throw ConfigError("{}: no such file; the folder of a model has one", (dir / "config.json").string());
}

std::string why_no_weights(const fs::path& dir) {
  const std::set<std::string> names = names_in(dir);
  const std::string reason = first_of(
      {about_download(dir), about_shards(dir, names), about_variant(dir, names), about_format(dir, names)});
  if (!reason.empty()) return reason;
  return fmt::format(
      "{}: holds neither model.safetensors nor model.safetensors.index.json; `hf download` fetches what is "
      "missing",
      dir.string());
}

}  // namespace temper::policy
