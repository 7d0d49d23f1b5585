// What is kept of the folder that a model came from.

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input/file.h"
#include "base/input/json.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/hugging_face/keys.h"
#include "policy/hugging_face/safetensors.h"
#include "policy/hugging_face/weight_choice.h"
#include "policy/hugging_face/weight_conversion.h"

namespace temper::policy {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::json;

// In the spelling of config.json; empty if none of the keys has one.
std::string dtype_in(const Json& json, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const auto found = json.find(key); found != json.end() && found->is_string())
      if (const at::ScalarType type = float_type(*found); type != at::ScalarType::Undefined)
        return config_name(type);
  return "";
}

std::string dtype_of_weights(const fs::path& dir) try {
  for (const std::string& name : choose_weights(dir).files) {
    const SafetensorsFile file(dir / name);
    for (const auto& [tensor, place] : file.tensors())
      if (const at::ScalarType type = float_type(place.dtype); type != at::ScalarType::Undefined)
        return config_name(type);
  }
  return "";
} catch (const ConfigError&) {  // those who read the weights say so
  return "";
}

// An id, or a list of ids. What is neither is nobody's id.
std::vector<int32_t> ids_in(const Json& json, const char* key) {
  std::vector<int32_t> ids;
  const auto found = json.find(key);
  if (found == json.end()) return ids;
  for (const Json& value : found->is_array() ? *found : Json::array({*found}))
    if (const auto id = whole_number(value); id && *id >= 0 && *id <= INT32_MAX) ids.push_back(int32_t(*id));
  return ids;
}

std::optional<int32_t> id_in(const Json& json, const char* key) {
  const std::vector<int32_t> ids = ids_in(json, key);
  return ids.empty() ? std::nullopt : std::optional(ids.front());
}

}  // namespace

std::string stored_dtype(const fs::path& dir) {
  return dtype_in(read_json(dir / "config.json"), {"dtype", "torch_dtype"});
}

Origin read_origin(const fs::path& dir) {
  const Json config = parse_json_object(read_input_file(dir / "config.json", JsonLimits().bytes),
                                        (dir / "config.json").string());
  Origin origin{.dtype = dtype_in(config, {kExportDtype, "dtype", "torch_dtype"}),
                .begin = id_in(config, "bos_token_id"),
                .pad = id_in(config, "pad_token_id"),
                .end = ids_in(config, "eos_token_id")};
  if (origin.dtype.empty()) origin.dtype = dtype_of_weights(dir);
  const fs::path generation = dir / "generation_config.json";
  if (!fs::exists(fs::symlink_status(generation))) return origin;
  origin.generation_config = read_input_file(generation, JsonLimits().bytes);
  origin.generation_end =
      ids_in(parse_json_object(origin.generation_config, generation.string()), "eos_token_id");
  return origin;
}

}  // namespace temper::policy
