// config.json, read.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input/file.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "policy/hugging_face/config.h"
#include "policy/hugging_face/folder.h"
#include "policy/hugging_face/keys.h"
#include "policy/model_config.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;

// One object of the file. A key that is missing or null leaves the value as it is.
class JsonFields {
 public:
  JsonFields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  bool has(std::string_view name) const {
    const auto found = json_.find(name);
    return found != json_.end() && !found->is_null();
  }
  const Json& at(std::string_view name) const { return *json_.find(name); }
  void read(std::string_view name, bool& value) const {
    if (!has(name)) return;
    if (!at(name).is_boolean()) refuse(name, "true or false");
    value = at(name).get<bool>();
  }
  void read(std::string_view name, int64_t& value, const OptionInfo& info) const {
    if (!has(name)) return;
    if (!at(name).is_number_integer()) refuse(name, "an integer");
    in_range(name, at(name).get<double>(), info);
    const auto number = whole_number(at(name));
    if (!number) refuse(name, "less than 2^63");
    value = *number;
  }
  void read(std::string_view name, double& value, const OptionInfo& info) const {
    if (!has(name)) return;
    if (!at(name).is_number()) refuse(name, "a number");
    in_range(name, at(name).get<double>(), info);
    value = at(name).get<double>();
  }
  void read(std::string_view name, std::string& value) const {
    if (!has(name)) return;
    if (!at(name).is_string()) refuse(name, "a string");
    value = at(name).get<std::string>();
  }
  void require(std::string_view name) const {
    if (!has(name)) throw ConfigError("{}: {} is missing", where_, name);
  }
  [[noreturn]] void refuse(std::string_view name, std::string_view allowed) const {
    throw ConfigError("{}: {} = {}: must be {}", where_, name, shown(at(name)), allowed);
  }
  const std::string& where() const { return where_; }

 private:
  void in_range(std::string_view name, double value, const OptionInfo& info) const {
    if (!(value >= info.min && value <= info.max)) refuse(name, fmt::format("{} to {}", info.min, info.max));
  }

  const Json& json_;
  const std::string where_;
};

// Fills the options that files call by the same name: their ranges hold here too.
class SameNames : public OptionVisitor {
 public:
  explicit SameNames(const JsonFields& fields) : fields_(fields) {}

  void option(std::string_view name, bool& value, OptionInfo) override { fields_.read(name, value); }
  void option(std::string_view name, int64_t& value, OptionInfo info) override {
    fields_.read(name, value, info);
  }
  void option(std::string_view name, double& value, OptionInfo info) override {
    fields_.read(name, value, info);
  }
  void option(std::string_view, std::string&, OptionInfo) override {}  // model_type and rope_type, read apart
  void option(std::string_view name, std::vector<int64_t>&, OptionInfo) override { unexpected(name); }
  void option(std::string_view name, std::vector<double>&, OptionInfo) override { unexpected(name); }
  void option(std::string_view name, std::vector<std::string>&, OptionInfo) override { unexpected(name); }
  void option(std::string_view name, OptionMap&, OptionInfo) override { unexpected(name); }

 protected:
  void begin_section(std::string_view name, std::string_view) override { unexpected(name); }
  void end_section() override {}

 private:
  [[noreturn]] static void unexpected(std::string_view name) {
    TEMPER_CHECK(false, "{} has no JSON form", name);
  }
  const JsonFields& fields_;
};

// What a missing key stands for. Source: the family's configuration_*.py in transformers 5. 0 in
// num_key_value_heads: as many as query heads; in head_dim: hidden_size / num_attention_heads.
ModelConfig family_defaults(const std::string& type) {
  ModelConfig c;
  c.set_family(type);
  c.tie_word_embeddings = false;
  c.hidden_size = 4096;
  c.num_hidden_layers = c.num_attention_heads = 32;
  const bool qwen = type == "qwen3" || type == "qwen2", llama = type == "llama";
  c.vocab_size = qwen ? 151936 : 32000;
  c.intermediate_size = qwen ? 22016 : llama ? 11008 : 14336;
  c.num_key_value_heads = qwen ? 32 : llama ? 0 : 8;
  c.head_dim = type == "qwen3" ? 128 : 0;
  c.max_position_embeddings = qwen ? 32768 : llama ? 2048 : 131072;
  c.sliding_window = llama ? 0 : 4096;
  return c;
}

void read_heads(const JsonFields& fields, const Json& json, ModelConfig& c) {
  if (json.contains("num_key_value_heads") && !fields.has("num_key_value_heads")) c.num_key_value_heads = 0;
  if (c.num_key_value_heads == 0) c.num_key_value_heads = c.num_attention_heads;
  if (c.head_dim != 0) return;
  if (c.hidden_size % c.num_attention_heads != 0)
    throw ConfigError("{}: head_dim is missing, and num_attention_heads {} does not divide hidden_size {}",
                      fields.where(), c.num_attention_heads, c.hidden_size);
  c.head_dim = c.hidden_size / c.num_attention_heads;
}

void read_biases(const JsonFields& fields, ModelConfig& c) {
  if (c.model_type == "qwen3" || c.model_type == "llama") fields.read("attention_bias", c.qkv_bias);
  if (c.model_type != "qwen2") c.o_bias = c.qkv_bias;
  if (c.model_type == "llama") fields.read("mlp_bias", c.mlp_bias);
}

// Which layers have the window, from max_window_layers or, where there is one, the list of layer types.
void read_layer_types(const JsonFields& fields, int64_t full_layers, ModelConfig& c) {
  for (int64_t i = 0; i < c.num_hidden_layers; ++i) c.windowed.push_back(i >= full_layers);
  if (!fields.has("layer_types")) return;
  const Json& types = fields.at("layer_types");
  if (!types.is_array() || int64_t(types.size()) != c.num_hidden_layers)
    fields.refuse("layer_types", fmt::format("a list of {} names", c.num_hidden_layers));
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] != "full_attention" && types[i] != "sliding_attention")
      fields.refuse("layer_types", "a list of full_attention and sliding_attention");
    c.windowed[i] = types[i] == "sliding_attention";
    if (c.windowed[i] && c.sliding_window == 0)
      throw ConfigError("{}: layer_types[{}] is sliding_attention, but the model has no sliding_window",
                        fields.where(), i);
  }
}

void read_window(const JsonFields& fields, const Json& json, ModelConfig& c) {
  const bool qwen = c.model_type == "qwen3" || c.model_type == "qwen2";
  bool has_window = !json.contains("sliding_window") || fields.has("sliding_window");
  if (qwen) {
    bool used = false;
    fields.read("use_sliding_window", used);
    has_window = has_window && used;
  }
  if (!has_window) c.sliding_window = 0;
  int64_t full_layers = c.model_type == "mistral" ? 0 : 28;
  fields.read("max_window_layers", full_layers, {.help = "", .min = 0});
  if (c.sliding_window == 0) full_layers = c.num_hidden_layers;
  read_layer_types(fields, full_layers, c);
  if (c.model_type == "mistral" && c.sliding_window > 0 && std::ranges::count(c.windowed, 0) > 0)
    fields.refuse("layer_types", "sliding_attention in every layer, as the family's sliding_window says");
  const auto windowed = std::ranges::count(c.windowed, 1);
  if (windowed == 0) c.sliding_window = 0;
  if (windowed == 0 || windowed == c.num_hidden_layers) c.windowed.clear();
}

RopeKind rope_kind(const JsonFields& rope) {
  std::string type = "default", older;
  rope.read("type", older);
  if (!older.empty()) type = older;
  rope.read("rope_type", type);
  if (!older.empty() && older != type)
    throw ConfigError("{}: rope_type = {}, type = {}: must agree", rope.where(), printable(type),
                      printable(older));
  if (type == "default") return RopeKind::kNone;
  if (type == "linear") return RopeKind::kLinear;
  if (type == "llama3") return RopeKind::kLlama3;
  throw ConfigError("{}: rope_type = \"{}\" is not supported: must be default, linear or llama3",
                    rope.where(), printable(type));
}

void check_rope_keys(const Json& json, const std::string& where, RopeKind kind) {
  std::vector<std::string> known = {"rope_type", "type", "rope_theta", "partial_rotary_factor"};
  if (kind != RopeKind::kNone) known.push_back("factor");
  if (kind == RopeKind::kLlama3)
    known.insert(known.end(), {"low_freq_factor", "high_freq_factor", "original_max_position_embeddings"});
  for (const auto& [key, value] : json.items())
    if (std::ranges::find(known, key) == known.end())
      throw ConfigError("{}: {} = {} is not known; it might change what the network computes", where,
                        printable(key), shown(value));
}

// transformers 5's rope_parameters, or what earlier ones call rope_scaling.
RopeScaling read_rope(const Json& json, const std::string& where, const ModelConfig& c) {
  if (!json.is_object()) throw ConfigError("{} = {}: must be an object", where, shown(json));
  const JsonFields fields(json, where);
  RopeScaling rope{.kind = rope_kind(fields), .original_max_position_embeddings = c.max_position_embeddings};
  check_rope_keys(json, where, rope.kind);
  double rotated = 1;
  fields.read("partial_rotary_factor", rotated, {.help = "", .min = 1, .max = 1});
  if (rope.kind == RopeKind::kNone) return {};
  fields.require("factor");
  fields.read("factor", rope.factor, {.help = "", .min = 1, .max = 1e6});
  if (rope.kind == RopeKind::kLinear) return {.kind = rope.kind, .factor = rope.factor};
  for (const char* name : {"low_freq_factor", "high_freq_factor"}) fields.require(name);
  fields.read("low_freq_factor", rope.low_freq_factor, {.help = "", .min = 1e-6, .max = 1e6});
  fields.read("high_freq_factor", rope.high_freq_factor, {.help = "", .min = 1e-6, .max = 1e6});
  fields.read("original_max_position_embeddings", rope.original_max_position_embeddings,
              {.help = "", .min = 1, .max = 1 << 24});
  return rope;
}

// Theta stands beside the scaling, inside it, or in both. Two answers that differ are an error.
void read_rope(const JsonFields& fields, ModelConfig& c) {
  bool said = fields.has("rope_theta"), scaled = false;
  for (const char* name : {"rope_parameters", "rope_scaling"}) {
    if (!fields.has(name)) continue;
    const std::string where = fmt::format("{}: {}", fields.where(), name);
    const RopeScaling rope = read_rope(fields.at(name), where, c);
    if (scaled && rope != c.rope) throw ConfigError("{} differs from rope_parameters", where);
    scaled = true;
    c.rope = rope;
    const JsonFields inside(fields.at(name), where);
    double theta = c.rope_theta;
    inside.read("rope_theta", theta, {.help = "", .min = 1});
    if (said && theta != c.rope_theta)
      throw ConfigError("{}: rope_theta = {}, but it is {} elsewhere in the file", where, theta,
                        c.rope_theta);
    said = said || inside.has("rope_theta");
    c.rope_theta = theta;
  }
}

std::string read_model_type(const JsonFields& fields) {
  const std::vector<std::string>& known = model_families();
  std::string type;
  fields.require("model_type");
  fields.read("model_type", type);
  if (std::ranges::find(known, type) == known.end())
    throw ConfigError("{}: model_type = \"{}\" is not supported: must be one of {}", fields.where(),
                      printable(type), fmt::join(known, ", "));
  return type;
}

}  // namespace

ModelConfig parse_model_config(std::string_view text, const std::string& path) {
  const Json json = parse_json_object(text, path);
  const JsonFields fields(json, path);
  const std::string type = read_model_type(fields);
  check_config_keys(json, type, path);
  ModelConfig config = family_defaults(type);
  SameNames reader(fields);
  config.visit(reader);
  read_heads(fields, json, config);
  read_biases(fields, config);
  read_window(fields, json, config);
  read_rope(fields, config);
  Problems problems;
  config.validate(path, problems);
  problems.throw_if_any();
  return config;
}

std::string hub_advice(const std::filesystem::path& dir) {
  const std::string name = dir.string();
  const size_t slash = name.find('/');
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";
  const bool shaped = slash != std::string::npos && slash > 0 && slash + 1 < name.size() &&
                      slash == name.rfind('/') && name[0] != '.' &&
                      name.find_first_not_of(kLetters) == std::string::npos;
  std::error_code ignored;
  if (!shaped || std::filesystem::exists(dir, ignored) || std::filesystem::exists(dir.parent_path(), ignored))
    return "";
  const std::string model = dir.filename().string();
  if (name.starts_with("models/"))  // where the recipes look for what was downloaded
    return fmt::format(
        "{}: no such folder. Download the model first, with `hf download ORGANISATION/{} --local-dir {}`",
        name, model, name);
  return fmt::format(
      "{}: no such folder. It looks like a name of the Hugging Face hub: download it first, with `hf "
      "download {} "
      "--local-dir models/{}`, and name models/{}",
      name, name, model, model);
}

ModelConfig read_model_config(const std::filesystem::path& dir) {
  const std::filesystem::path path = dir / "config.json";
  if (const std::string advice = hub_advice(dir); !advice.empty()) throw ConfigError("{}", advice);
  check_model_folder(dir);
  return parse_model_config(read_input_file(path, JsonLimits().bytes), path.string());
}

}  // namespace temper::policy
