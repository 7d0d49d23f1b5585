// config.json and generation_config.json.

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "policy/hugging_face_files.h"
#include "policy/model_config.h"

namespace temper {
namespace {

using Json = nlohmann::json;

// Fills each option from the file's field of that name, if it has the type and the range.
class JsonReader : public OptionVisitor {
 public:
  JsonReader(const Json& json, const std::string& path) : json_(json), path_(path) {}

  void option(std::string_view name, bool& value, OptionInfo) override {
    if (!at(name).is_boolean()) refuse(name, "true or false");
    value = at(name).get<bool>();
  }
  void option(std::string_view name, int64_t& value, OptionInfo info) override {
    if (!at(name).is_number_integer()) refuse(name, "an integer");
    value = at(name).get<int64_t>();
    in_range(name, double(value), info);
  }
  void option(std::string_view name, double& value, OptionInfo info) override {
    if (!at(name).is_number()) refuse(name, "a number");
    value = at(name).get<double>();
    in_range(name, value, info);
  }
  void option(std::string_view name, std::string& value, OptionInfo info) override {
    if (!at(name).is_string()) refuse(name, "a string");
    value = at(name).get<std::string>();
    for (const auto& choice : info.choices)
      if (choice == value) return;
    refuse(name, fmt::format("supported: {}", fmt::join(info.choices, ", ")));
  }
  void option(std::string_view name, std::vector<int64_t>&, OptionInfo) override { unexpected(name); }
  void option(std::string_view name, std::vector<double>&, OptionInfo) override { unexpected(name); }
  void option(std::string_view name, std::vector<std::string>&, OptionInfo) override { unexpected(name); }

 protected:
  void begin_section(std::string_view name, std::string_view) override { unexpected(name); }
  void end_section() override {}

 private:
  [[noreturn]] static void unexpected(std::string_view name) {
    TEMPER_CHECK(false, "{} has no JSON form", name);
  }
  const Json& at(std::string_view name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) throw ConfigError("{}: {} is missing", path_, name);
    return *found;
  }
  void in_range(std::string_view name, double value, const OptionInfo& info) const {
    if (!(value >= info.min && value <= info.max)) refuse(name, fmt::format("{} to {}", info.min, info.max));
  }
  [[noreturn]] void refuse(std::string_view name, std::string_view allowed) const {
    throw ConfigError("{}: {} = {}: must be {}", path_, name, at(name).dump(), allowed);
  }
  const Json& json_;
  const std::string& path_;
};

// A field that changes what the network computes in a way not built here.
void require(const Json& json, const char* name, const Json& supported, const std::string& path) {
  if (const auto found = json.find(name); found != json.end() && *found != supported)
    throw ConfigError("{}: {} = {} is not supported: must be {}", path, name, found->dump(),
                      supported.dump());
}

// transformers 5 keeps theta in rope_parameters, earlier ones beside it.
void lift_rope_theta(Json& json, const std::string& path) {
  const auto rope = json.find("rope_parameters");
  if (rope == json.end() || !rope->is_object()) return;
  require(*rope, "rope_type", "default", path);
  if (rope->contains("rope_theta")) json["rope_theta"] = (*rope)["rope_theta"];
}

}  // namespace

ModelConfig read_model_config(const std::filesystem::path& dir) {
  const std::string path = (dir / "config.json").string();
  if (!std::filesystem::is_regular_file(path))
    throw ConfigError("{}: no such file; a Hugging Face directory has one", path);
  Json json = Json::parse(read_file(path), nullptr, false);
  if (!json.is_object()) throw ConfigError("{}: is not a JSON object", path);
  lift_rope_theta(json, path);
  require(json, "hidden_act", "silu", path);
  require(json, "attention_bias", false, path);
  require(json, "rope_scaling", nullptr, path);
  require(json, "use_sliding_window", false, path);
  ModelConfig config;
  JsonReader reader(json, path);
  config.visit(reader);
  Problems problems;
  config.validate(path, problems);
  problems.throw_if_any();
  return config;
}

void write_model_config(const std::filesystem::path& dir, const ModelConfig& c, DType dtype,
                        const EndTokens& end) {
  const char* torch_dtype = dtype == DType::kF64 ? "float64" : dtype == DType::kBF16 ? "bfloat16" : "float32";
  const nlohmann::ordered_json json = {
      {"architectures", {"Qwen3ForCausalLM"}},
      {"model_type", c.model_type},
      {"vocab_size", c.vocab_size},
      {"hidden_size", c.hidden_size},
      {"intermediate_size", c.intermediate_size},
      {"num_hidden_layers", c.num_hidden_layers},
      {"num_attention_heads", c.num_attention_heads},
      {"num_key_value_heads", c.num_key_value_heads},
      {"head_dim", c.head_dim},
      {"hidden_act", "silu"},
      {"attention_bias", false},
      {"attention_dropout", 0.0},
      {"tie_word_embeddings", c.tie_word_embeddings},
      {"rms_norm_eps", c.rms_norm_eps},
      {"rope_theta", c.rope_theta},
      {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", c.rope_theta}}},
      {"max_position_embeddings", c.max_position_embeddings},
      {"use_sliding_window", false},
      {"use_cache", true},
      {"bos_token_id", nullptr},
      {"eos_token_id", end.eos},
      {"pad_token_id", end.pad},
      {"torch_dtype", torch_dtype}};
  const nlohmann::ordered_json generation = {
      {"eos_token_id", end.eos}, {"pad_token_id", end.pad}, {"do_sample", true}};
  write_file_atomic(dir / "config.json", json.dump(2) + "\n");
  write_file_atomic(dir / "generation_config.json", generation.dump(2) + "\n");
}

}  // namespace temper
