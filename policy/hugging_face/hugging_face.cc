#include "policy/hugging_face/hugging_face.h"

#include <ATen/ATen.h>

#include <unistd.h>

#include <functional>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/input/printable.h"
#include "policy/chat/chat_format.h"
#include "policy/hugging_face/files.h"
#include "policy/hugging_face/serving.h"
#include "policy/hugging_face/weight_conversion.h"
#include "policy/hugging_face/weight_files.h"
#include "policy/parameters/file_ranges.h"
#include "policy/parameters/not_finite.h"
#include "policy/parameters/parameter_store.h"
#include "policy/threads.h"

namespace temper::policy {
namespace fs = std::filesystem;
namespace {

constexpr const char* kGenerationConfig = "generation_config.json";

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
  // An older export in the way goes last: where the file system can exchange two folders, one of them is
  // there under the name at every moment.
  void move_into_place() {
    sync_path(path_);
    if (!fs::exists(target_)) return rename_path(path_, target_);
    if (exchange_paths(path_, target_)) return;
    const fs::path old = path_.string() + ".old";
    rename_path(target_, old);
    rename_path(path_, target_);
    std::error_code ignored;
    fs::remove_all(old, ignored);
  }

 private:
  fs::path target_, path_;
};

fs::path without_trailing_slash(const fs::path& dir) { return dir.has_filename() ? dir : dir.parent_path(); }

at::ScalarType stored_type(const ExportOptions& options, at::ScalarType otherwise) {
  if (options.dtype.empty()) return otherwise;
  const at::ScalarType type = float_type(options.dtype);
  if (type == at::ScalarType::Undefined)
    throw ConfigError("dtype: {} is not supported: must be float32, float64, bfloat16 or float16",
                      printable(options.dtype));
  return type;
}

at::ScalarType stored_type(const Policy& policy, const ExportOptions& options) {
  return stored_type(options, policy.parameters().weights_type());
}

// Parameters in the network's order, in files of at most so many bytes; one that is larger has its own.
std::vector<std::vector<const ParameterInfo*>> shards_of(const std::vector<ParameterInfo>& parameters,
                                                         int64_t width, int64_t most_bytes) {
  std::vector<std::vector<const ParameterInfo*>> shards(1);
  int64_t bytes = 0;
  for (const ParameterInfo& p : parameters) {
    if (!shards.back().empty() && bytes + p.size * width > most_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(&p);
    bytes += p.size * width;
  }
  return shards;
}

void refuse_not_finite(const NotFinite& found) {
  if (found.count > 0) throw ConfigError("{} are not finite", found.where);
}

using MakeTensor = std::function<MadeTensor(const ParameterInfo&)>;

void write_files(const fs::path& dir, const std::vector<ParameterInfo>& parameters, at::ScalarType type,
                 int64_t shard_bytes, const MakeTensor& make) {
  const auto width = int64_t(c10::elementSize(type));
  const auto shards = shards_of(parameters, width, shard_bytes);
  int64_t total = 0;
  nlohmann::ordered_json map;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shards.size() == 1
                                 ? "model.safetensors"
                                 : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    std::map<std::string, MadeTensor> tensors;
    for (const ParameterInfo* p : shards[i]) {
      tensors[p->name] = make(*p);
      map[p->name] = name;
      total += p->size * width;
    }
    write_safetensors(dir / name, tensors, file_threads());
  }
  if (shards.size() == 1) return;
  const nlohmann::ordered_json index = {{"metadata", {{"total_size", total}}}, {"weight_map", map}};
  write_file_atomic(dir / "model.safetensors.index.json", index.dump(2) + "\n");
}

}  // namespace

void write_weights(const fs::path& dir, const Policy& policy, const ExportOptions& options) {
  const ParameterStore& store = policy.parameters();
  const at::ScalarType type = stored_type(policy, options);
  TooLargeNumbers too_large;
  const auto listen = [&](const ParameterInfo& p) {
    return [&too_large, &p](int64_t begin, int64_t, const TooLarge& found) {
      too_large.add(fmt::format("tensor '{}'", p.name), p.shape, p.offset, begin, found);
    };
  };
  write_files(dir, store.parameters(), type, options.shard_bytes,
              [&](const ParameterInfo& p) { return made_from(store.weight(p.name), type, listen(p)); });
  too_large.throw_if_any(type);
}

// Each rank reads its share and gets the others' from them; an error of one is an error of all.
NotFinite read_weights(const WeightFiles& files, Policy& policy) {
  ParameterStore& store = policy.parameters();
  std::vector<FileRange> ranges;
  for (const auto& [parameter, begin, weights] : store.own_weights()) {
    const auto [file, place] = files.of(parameter.name);
    const at::ScalarType type = float_type(place->dtype);
    ranges.push_back({file, place->begin + uint64_t(begin) * c10::elementSize(type), type, weights,
                      parameter.name, parameter.shape, begin});
  }
  std::string problem;
  NotFinite mine;
  try {
    if (store.ranks().rank() == 0) files.check_tied_head();
    mine = read_ranges(ranges);
  } catch (const ConfigError& e) {
    problem = e.what();
  }
  for (const std::string& of_rank : store.ranks().all_gather(problem, "weights"))
    if (!of_rank.empty()) throw ConfigError("{}", of_rank);
  store.gather_weights();
  return over_ranks(mine, store.shard());
}

void read_weights(const fs::path& dir, Policy& policy) {
  refuse_not_finite(read_weights(WeightFiles(dir, policy.config()), policy));
}

namespace {

void write_shape(const ModelConfig& config, at::ScalarType type, const Tokenizer& tokenizer,
                 const fs::path& dir, const ExportOptions& options) {
  const std::string dtype = config_name(type), &source = options.origin.dtype;
  const bool remembers = options.dtype.empty() && !source.empty() && source != dtype;
  const Served all = served(tokenizer, options);
  write_model_config(dir, config, dtype, all.tokens, remembers ? source : "");
  write_file_atomic(dir / kGenerationConfig, all.generation_config);
  for (const auto& [name, content] : all.tokenizer) write_file_atomic(dir / name, content);
}

// Counts numbers that are not finite, or that the written type cannot hold, in pieces that several threads write, and
// names the first one in the order of the parameters.
class OddNumbers {
 public:
  PieceListener of(const ParameterInfo& parameter, const SafetensorsFile& file) {
    return [this, &file, &parameter](int64_t begin, int64_t count, const TooLarge& too_large) {
      too_large_.add(fmt::format("tensor '{}'", parameter.name), parameter.shape, parameter.offset, begin,
                     too_large);
      if (count == 0) return;
      const int64_t at = parameter.offset;
      const std::scoped_lock lock(mutex_);
      found_.count += count;
      if (at + begin >= first_) return;
      first_ = at + begin;
      found_.where = fmt::format("{}: tensor '{}': {} of its numbers from number {} on", file.path().string(),
                                 parameter.name, count, begin);
    };
  }
  void refuse_too_large(at::ScalarType type) const { too_large_.throw_if_any(type); }
  const NotFinite& found() const { return found_; }

 private:
  std::mutex mutex_;
  TooLargeNumbers too_large_;
  NotFinite found_;
  int64_t first_ = std::numeric_limits<int64_t>::max();
};

}  // namespace

void export_shape(const Policy& policy, const Tokenizer& tokenizer, const fs::path& dir,
                  const ExportOptions& options) {
  write_shape(policy.config(), stored_type(policy, options), tokenizer, dir, options);
}

NotFinite copy_hugging_face(const fs::path& from, const Tokenizer& tokenizer, const fs::path& dir,
                            const ExportOptions& options) {
  const ModelConfig config = read_model_config(from);
  check_tokenizer_fits(tokenizer, config);
  const WeightFiles files(from, config);
  files.check_tied_head();
  const std::vector<ParameterInfo> parameters = parameters_of(config);
  const at::ScalarType type =
      stored_type(options, float_type(files.of(parameters.front().name).place->dtype));
  DirectoryBeside beside(without_trailing_slash(dir));
  write_shape(config, type, tokenizer, beside.path(), options);
  OddNumbers numbers;
  write_files(beside.path(), parameters, type, options.shard_bytes, [&](const ParameterInfo& p) {
    const auto [file, place] = files.of(p.name);
    return made_from(*file, *place, type, numbers.of(p, *file));
  });
  numbers.refuse_too_large(type);
  beside.move_into_place();
  return numbers.found();
}

void export_hugging_face(const Policy& policy, const Tokenizer& tokenizer, const fs::path& dir,
                         const ExportOptions& options) {
  check_tokenizer_fits(tokenizer, policy.config());
  DirectoryBeside beside(without_trailing_slash(dir));
  export_shape(policy, tokenizer, beside.path(), options);
  write_weights(beside.path(), policy, options);
  beside.move_into_place();
}

Policy import_policy(const fs::path& dir, const PolicyOptions& options, NotFinite* not_finite) {
  const ModelConfig config = read_model_config(dir);
  const WeightFiles files(dir, config);
  Policy policy(config, options);
  const NotFinite found = read_weights(files, policy);
  if (!not_finite) refuse_not_finite(found);
  if (not_finite) *not_finite = found;
  return policy;
}

void check_weights(const fs::path& dir, const ModelConfig& config) { const WeightFiles files(dir, config); }

void check_tokenizer_fits(const Tokenizer& tokenizer, const ModelConfig& config) {
  if (tokenizer.vocab_size() > config.vocab_size)
    throw ConfigError("vocab_size: the tokenizer has {} ids, the policy only {} rows", tokenizer.vocab_size(),
                      config.vocab_size);
}

}  // namespace temper::policy
