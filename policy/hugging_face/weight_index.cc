#include "policy/hugging_face/weight_index.h"

#include <cmath>
#include <set>

#include "base/error.h"
#include "base/input/file.h"
#include "base/input/json.h"
#include "base/input/json_events.h"
#include "base/input/printable.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxIndexBytes = 100'000'000;
constexpr size_t kMostIndexed = 1 << 20;

// {metadata: {total_size: …}, weight_map: {tensor: file}}
class IndexEvents : public JsonEvents {
 public:
  explicit IndexEvents(const std::string& path) : JsonEvents(path, 3), path_(path) {}
  WeightIndex take() {
    if (!has_map_) throw ConfigError("{}: has no weight_map", path_);
    return std::move(index_);
  }

 private:
  bool in(const char* section) const { return depth() == 2 && section_ == section; }
  bool in_map() const { return has_map_ && in("weight_map"); }

  void on_key(std::string& name) override {
    if (depth() == 1) section_ = name;
    bool twice = depth() == 1 && !sections_.insert(name).second;
    if (in_map()) {
      const auto [entry, is_new] = index_.files.try_emplace(name);
      twice = !is_new;
      file_ = &entry->second;
    }
    if (twice) throw ConfigError("{}: names '{}' twice", path_, printable(name));
    if (index_.files.size() > kMostIndexed)
      throw ConfigError("{}: weight_map names more than {} tensors", path_, kMostIndexed);
    key_ = std::move(name);
  }
  void on_value(Json&& value) override {
    if (depth() == 0) throw ConfigError("{}: is not a JSON object", path_);
    if (in("metadata") && key_ == "total_size") index_.total_size = size_from(value);
    if (!in_map()) return;
    const auto* file = value.get_ptr<const std::string*>();
    constexpr std::string_view kNever("/\0", 2);
    if (!file || file->empty() || *file == "." || *file == ".." ||
        file->find_first_of(kNever) != std::string::npos)
      throw ConfigError("{}: tensor '{}': {} is not a file of this directory", path_, printable(key_),
                        shown(value));
    *file_ = *file;
  }
  void on_begin(bool array) override {
    if (depth() == 0 && array) throw ConfigError("{}: is not a JSON object", path_);
    if (depth() == 1 && section_ == "weight_map" && !array) has_map_ = true;
    if (in_map()) throw ConfigError("{}: tensor '{}' is not in a file", path_, printable(key_));
  }
  void on_end() override {}

  // Some versions of transformers wrote 16381470720.0.
  uint64_t size_from(const Json& value) const {
    constexpr double kMost = 1e18;
    const double size = value.is_number() ? value.get<double>() : -1;
    if (!(size >= 0 && size <= kMost && size == std::floor(size)))
      throw ConfigError("{}: metadata.total_size is {}: must be a number of bytes", path_, shown(value));
    return value.is_number_unsigned() ? value.get<uint64_t>() : uint64_t(size);
  }

  const std::string& path_;
  WeightIndex index_;
  std::set<std::string> sections_;
  std::string section_, key_;
  std::string* file_ = nullptr;  // of the tensor that was named last
  bool has_map_ = false;
};

}  // namespace

WeightIndex parse_weight_index(std::string_view text, const std::string& path) {
  IndexEvents events(path);
  events.read(text);
  return events.take();
}

WeightIndex read_weight_index(const std::filesystem::path& path) {
  return parse_weight_index(read_input_file(path, kMaxIndexBytes), path.string());
}

}  // namespace temper::policy
