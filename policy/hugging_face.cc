#include "policy/hugging_face.h"

#include <ATen/ATen.h>

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "policy/chat_format.h"
#include "policy/hugging_face_files.h"
#include "policy/parameter_store.h"
#include "policy/safetensors.h"

namespace temper {
namespace fs = std::filesystem;
namespace {

at::ScalarType scalar_type(const StoredTensor& tensor, const std::string& where) {
  static const std::map<std::string, at::ScalarType> types = {
      {"F32", at::kFloat}, {"F64", at::kDouble}, {"BF16", at::kBFloat16}, {"F16", at::kHalf}};
  const auto found = types.find(tensor.dtype);
  if (found == types.end())
    throw ConfigError("{}: dtype {} cannot be a weight: must be F32, F64, BF16 or F16", where, tensor.dtype);
  return found->second;
}

const char* stored_dtype(at::ScalarType type) {
  return type == at::kDouble ? "F64" : type == at::kBFloat16 ? "BF16" : "F32";
}

std::set<std::string> weight_files(const fs::path& dir) {
  const fs::path index = dir / "model.safetensors.index.json";
  if (!fs::exists(index)) {
    if (!fs::exists(dir / "model.safetensors"))
      throw ConfigError("{}: holds neither model.safetensors nor {}", dir.string(),
                        index.filename().string());
    return {"model.safetensors"};
  }
  const auto json = nlohmann::json::parse(read_file(index), nullptr, false);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object())
    throw ConfigError("{}: has no weight_map", index.string());
  std::set<std::string> files;
  for (const auto& [name, file] : json["weight_map"].items()) {
    if (!file.is_string() || fs::path(file.get<std::string>()).filename() != file.get<std::string>())
      throw ConfigError("{}: tensor '{}': {} is not a file of this directory", index.string(), name,
                        file.dump());
    files.insert(file.get<std::string>());
  }
  return files;
}

void copy_weight(const StoredTensor& stored, at::Tensor weight, const std::string& where) {
  if (stored.shape != weight.sizes().vec())
    throw ConfigError("{}: shape [{}], expected [{}]", where, fmt::join(stored.shape, ", "),
                      fmt::join(weight.sizes(), ", "));
  const at::ScalarType type = scalar_type(stored, where);
  // from_blob wants a mutable pointer; the tensor is only read.
  void* data = const_cast<std::byte*>(stored.data.data());
  weight.copy_(at::from_blob(data, stored.shape, at::TensorOptions().dtype(type)));
}

// Removed again unless renamed into place.
class DirectoryBeside {
 public:
  explicit DirectoryBeside(const fs::path& target)
      : target_(target), path_(fmt::format("{}.tmp{}", target.string(), ::getpid())) {
    std::error_code error;
    if (target.has_parent_path()) fs::create_directories(target.parent_path(), error);
    fs::remove_all(path_, error);
    if (!fs::create_directory(path_, error))
      throw WorldError("cannot create {}: {}", path_.string(), error.message());
  }
  ~DirectoryBeside() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }
  // An older export in the way is moved aside first and removed last.
  void move_into_place() {
    const fs::path old = path_.string() + ".old";
    std::error_code error;
    const bool replaces = fs::exists(target_);
    if (replaces) fs::rename(target_, old, error);
    if (!error) fs::rename(path_, target_, error);
    if (error)
      throw WorldError("cannot rename {} to {}: {}", path_.string(), target_.string(), error.message());
    if (replaces) fs::remove_all(old, error);
  }

 private:
  fs::path target_, path_;
};

fs::path without_trailing_slash(const fs::path& dir) { return dir.has_filename() ? dir : dir.parent_path(); }

// Before memory is asked for: a config of another model may want any amount of it.
void check_size(const fs::path& dir, const ModelConfig& config) {
  constexpr int64_t kLeastBytes = 2;  // of a stored parameter
  const auto files = weight_files(dir);
  int64_t bytes = 0;
  for (const std::string& name : files) {
    if (!fs::exists(dir / name)) throw ConfigError("{}: no such file", (dir / name).string());
    bytes += int64_t(fs::file_size(dir / name));
  }
  if (bytes / kLeastBytes < config.parameter_count())
    throw ConfigError("{}: {}, {} bytes, cannot hold the {} parameters that config.json describes",
                      dir.string(), fmt::join(files, " and "), bytes, config.parameter_count());
}

}  // namespace

void write_weights(const fs::path& dir, const Policy& policy) {
  const ParameterStore& store = policy.parameters();
  const at::Tensor weights = store.weights().cpu();
  const auto* bytes = static_cast<const std::byte*>(weights.const_data_ptr());
  const size_t width = weights.element_size();
  std::map<std::string, StoredTensor> tensors;
  for (const auto& p : store.parameters())
    tensors[p.name] = {stored_dtype(weights.scalar_type()),
                       p.shape,
                       {bytes + size_t(p.offset) * width, size_t(p.size) * width}};
  write_safetensors(dir / "model.safetensors", tensors);
}

void read_weights(const fs::path& dir, Policy& policy) {
  std::set<std::string> missing;
  for (const auto& p : policy.parameters().parameters()) missing.insert(p.name);
  const bool tied = policy.config().tie_word_embeddings;
  for (const std::string& name : weight_files(dir)) {
    const SafetensorsFile file(dir / name);
    for (const auto& [tensor, stored] : file.tensors()) {
      const std::string where = fmt::format("{}: tensor '{}'", (dir / name).string(), tensor);
      if (tied && tensor == "lm_head.weight") continue;  // some write the embedding a second time
      if (missing.erase(tensor) == 0) throw ConfigError("{}: is not one of this model's", where);
      copy_weight(stored, policy.parameters().weight(tensor), where);
    }
  }
  if (!missing.empty())
    throw ConfigError("{}: tensor '{}' is missing ({} in all)", dir.string(), *missing.begin(),
                      missing.size());
}

namespace {

std::optional<int32_t> first_known(const Tokenizer& tokenizer, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto id = tokenizer.find_special(name)) return id;
  return std::nullopt;
}

EndTokens end_tokens(const Tokenizer& tokenizer) {
  EndTokens tokens;
  tokens.begin = first_known(tokenizer, {"<|begin_of_text|>", "<s>"});
  tokens.end = ChatFormat(tokenizer).stop_ids();
  tokens.pad =
      first_known(tokenizer, {"<|endoftext|>", "<|finetune_right_pad_id|>", "<pad>"}).value_or(tokens.end[0]);
  return tokens;
}

}  // namespace

void export_shape(const Policy& policy, const Tokenizer& tokenizer, const fs::path& dir) {
  write_model_config(dir, policy.config(), policy.options().dtype, end_tokens(tokenizer));
  tokenizer.save(dir);
}

void export_hugging_face(const Policy& policy, const Tokenizer& tokenizer, const fs::path& dir) {
  check_tokenizer_fits(tokenizer, policy.config());
  DirectoryBeside beside(without_trailing_slash(dir));
  export_shape(policy, tokenizer, beside.path());
  write_weights(beside.path(), policy);
  beside.move_into_place();
}

Policy import_policy(const fs::path& dir, const PolicyOptions& options) {
  const ModelConfig config = read_model_config(dir);
  check_size(dir, config);
  Policy policy(config, options);
  read_weights(dir, policy);
  return policy;
}

void check_weights(const fs::path& dir, const ModelConfig& config) {
  check_size(dir, config);
  std::map<std::string, std::vector<int64_t>> missing;
  for (const ParameterInfo& p : parameters_of(config)) missing[p.name] = p.shape;
  for (const std::string& name : weight_files(dir)) {
    const SafetensorsFile file(dir / name);
    for (const auto& [tensor, stored] : file.tensors()) {
      const std::string where = fmt::format("{}: tensor '{}'", (dir / name).string(), tensor);
      if (config.tie_word_embeddings && tensor == "lm_head.weight") continue;
      const auto known = missing.find(tensor);
      if (known == missing.end()) throw ConfigError("{}: is not one of this model's", where);
      if (stored.shape != known->second)
        throw ConfigError("{}: shape [{}], expected [{}]", where, fmt::join(stored.shape, ", "),
                          fmt::join(known->second, ", "));
      scalar_type(stored, where);
      missing.erase(known);
    }
  }
  if (!missing.empty())
    throw ConfigError("{}: tensor '{}' is missing ({} in all)", dir.string(), missing.begin()->first,
                      missing.size());
}

void check_tokenizer_fits(const Tokenizer& tokenizer, const ModelConfig& config) {
  if (tokenizer.vocab_size() > config.vocab_size)
    throw ConfigError("vocab_size: the tokenizer has {} ids, the policy only {} rows", tokenizer.vocab_size(),
                      config.vocab_size);
}

}  // namespace temper
