#include "policy/weight_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "policy/json_events.h"
#include "policy/parameter_store.h"
#include "policy/weight_conversion.h"

namespace temper {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxIndexBytes = 100'000'000;
constexpr const char* kHead = "lm_head.weight";
constexpr const char* kEmbedding = "model.embed_tokens.weight";

// {metadata: …, weight_map: {tensor: file}}
class IndexEvents : public JsonEvents {
 public:
  explicit IndexEvents(const std::string& path) : JsonEvents(path, 3), path_(path) {}
  std::map<std::string, std::string> take() {
    if (!has_map_) throw ConfigError("{}: has no weight_map", path_);
    return std::move(files_);
  }

 private:
  bool in_map() const { return depth() == 2 && section_ == "weight_map"; }
  void on_key(std::string& name) override {
    if (depth() == 1) section_ = name;
    if (in_map() && files_.contains(name))
      throw ConfigError("{}: weight_map names '{}' twice", path_, printable(name));
    tensor_ = std::move(name);
  }
  void on_value(const nlohmann::json& value) override {
    if (!in_map()) return;
    const auto* file = value.get_ptr<const std::string*>();
    if (!file || file->empty() || *file == "." || *file == ".." || fs::path(*file).filename() != *file)
      throw ConfigError("{}: tensor '{}': {} is not a file of this directory", path_, printable(tensor_),
                        printable(value.dump()));
    files_[tensor_] = *file;
  }
  void on_begin(bool array) override {
    if (depth() == 1 && section_ == "weight_map" && !array) has_map_ = true;
    if (in_map()) throw ConfigError("{}: tensor '{}' is not in a file", path_, printable(tensor_));
  }
  void on_end() override {}

  const std::string& path_;
  std::map<std::string, std::string> files_;
  std::string section_, tensor_;
  bool has_map_ = false;
};

// Tensor → file, as the index says; empty where a directory has a single file.
std::map<std::string, std::string> read_index(const fs::path& dir) {
  const fs::path path = dir / "model.safetensors.index.json";
  if (!fs::exists(path)) {
    if (fs::exists(dir / "model.safetensors")) return {};
    throw ConfigError("{}: holds neither model.safetensors nor {}", dir.string(), path.filename().string());
  }
  if (!fs::is_regular_file(path) || fs::file_size(path) > kMaxIndexBytes)
    throw ConfigError("{}: is no regular file of at most {} bytes", path.string(), kMaxIndexBytes);
  const std::string name = path.string();
  IndexEvents events(name);
  events.read(read_file(path));
  return events.take();
}

// Before parameters are listed: a config of another model may describe any number of them.
void check_size(const fs::path& dir, const std::set<std::string>& files, const ModelConfig& config) {
  constexpr int64_t kLeastBytes = 2;  // of a stored parameter
  int64_t bytes = 0;
  for (const std::string& name : files) {
    if (!fs::exists(dir / name)) throw ConfigError("{}: no such file", (dir / name).string());
    if (!fs::is_regular_file(dir / name)) throw ConfigError("{}: is no regular file", (dir / name).string());
    bytes += int64_t(fs::file_size(dir / name));
  }
  if (bytes / kLeastBytes < config.parameter_count())
    throw ConfigError("{}: {}, {} bytes, cannot hold the {} parameters that config.json describes",
                      dir.string(), fmt::join(files, " and "), bytes, config.parameter_count());
}

void check_fits(const WeightPlace& found, const ParameterInfo& parameter) {
  const std::string where = fmt::format("{}: tensor '{}'", found.file->path().string(), parameter.name);
  if (found.place->shape != parameter.shape)
    throw ConfigError("{}: shape [{}], expected [{}]", where, fmt::join(found.place->shape, ", "),
                      fmt::join(parameter.shape, ", "));
  if (float_type(found.place->dtype) == at::ScalarType::Undefined)
    throw ConfigError("{}: dtype {} cannot be a weight: must be F32, F64, BF16 or F16", where,
                      found.place->dtype);
}

}  // namespace

WeightFiles::WeightFiles(const fs::path& dir, const ModelConfig& config) {
  const auto index = read_index(dir);
  std::set<std::string> names;
  for (const auto& [tensor, file] : index) names.insert(file);
  if (names.empty()) names.insert("model.safetensors");
  check_size(dir, names, config);
  for (const std::string& name : names) add_file(dir / name);
  check_index(dir, index);
  check_parameters(dir, config);
}

void WeightFiles::add_file(const fs::path& path) {
  files_.push_back(std::make_unique<SafetensorsFile>(path));
  const SafetensorsFile* file = files_.back().get();
  for (const auto& [name, place] : file->tensors())
    if (const auto [other, added] = places_.try_emplace(name, WeightPlace{file, &place}); !added)
      throw ConfigError("{}: tensor '{}': is in {} too", path.string(), printable(name),
                        other->second.file->path().filename().string());
}

void WeightFiles::check_index(const fs::path& dir, const std::map<std::string, std::string>& index) const {
  for (const auto& [tensor, file] : index) {
    const auto found = places_.find(tensor);
    if (found == places_.end() || found->second.file->path().filename() != file)
      throw ConfigError("{}: tensor '{}': is missing, where model.safetensors.index.json says it is",
                        (dir / file).string(), printable(tensor));
  }
}

void WeightFiles::check_parameters(const fs::path& dir, const ModelConfig& config) {
  if (int64_t(places_.size()) < config.num_hidden_layers)
    throw ConfigError("{}: {} tensors, too few for the {} layers that config.json describes", dir.string(),
                      places_.size(), config.num_hidden_layers);
  std::set<std::string> missing, known;
  for (const ParameterInfo& parameter : parameters_of(config)) {
    known.insert(parameter.name);
    const auto found = places_.find(parameter.name);
    if (found == places_.end())
      missing.insert(parameter.name);
    else
      check_fits(found->second, parameter);
  }
  for (const auto& [name, found] : places_) {
    if (known.contains(name)) continue;
    if (!config.tie_word_embeddings || name != kHead)
      throw ConfigError("{}: tensor '{}': is not one of this model's", found.file->path().string(),
                        printable(name));
    tied_head_ = true;
  }
  if (missing.empty()) return;
  const bool head = missing.contains(kHead);
  throw ConfigError("{}: tensor '{}' is missing ({} in all){}", dir.string(), *missing.begin(),
                    missing.size(),
                    head ? "; config.json says that the head is not tied to the embedding" : "");
}

uint64_t WeightFiles::bytes() const {
  uint64_t bytes = 0;
  for (const auto& file : files_) bytes += fs::file_size(file->path());
  return bytes;
}

void WeightFiles::check_tied_head() const {
  if (!tied_head_) return;
  const auto [head_file, head] = of(kHead);
  const auto [file, embedding] = of(kEmbedding);
  bool same = head->dtype == embedding->dtype && head->shape == embedding->shape;
  constexpr uint64_t kChunk = 1 << 22;
  std::vector<std::byte> a(kChunk), b(kChunk);
  for (uint64_t at = 0; same && at < head->bytes; at += kChunk) {
    const auto size = size_t(std::min(kChunk, head->bytes - at));
    head_file->read(head->begin + at, std::span(a).first(size));
    file->read(embedding->begin + at, std::span(b).first(size));
    same = std::equal(a.begin(), a.begin() + ptrdiff_t(size), b.begin());
  }
  if (!same)
    throw ConfigError(
        "{}: tensor '{}': is not the embedding, to which tie_word_embeddings in config.json ties it",
        head_file->path().string(), kHead);
}

}  // namespace temper
