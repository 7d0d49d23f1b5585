// config.json: what published files describe, what is written back, what is refused.

#include "policy/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "policy/hugging_face/files.h"

namespace temper::policy {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::HasSubstr;

class ModelConfigFile : public testing::Test {
 protected:
  ModelConfigFile() : dir_(fs::path(testing::TempDir()) / ("config" + std::to_string(getpid()))) {
    fs::create_directories(dir_);
  }
  ~ModelConfigFile() override { fs::remove_all(dir_); }

  ModelConfig read(const Json& json) {
    write_file_atomic(dir_ / "config.json", json.dump());
    return read_model_config(dir_);
  }
  std::string error(const Json& json) {
    try {
      read(json);
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "none";
  }
  static Json with(Json json, const std::string& key, const Json& value) {
    json[key] = value;
    return json;
  }
  static Json without(Json json, const std::string& key) {
    json.erase(key);
    return json;
  }
  fs::path dir_;
};

// The files below are written as their publishers wrote them, with the shape's numbers of each size put in.
Json shaped(const char* text, const std::vector<int64_t>& numbers) {
  Json json = Json::parse(text);
  const char* names[] = {"hidden_size",         "intermediate_size",   "num_hidden_layers",
                         "num_attention_heads", "num_key_value_heads", "vocab_size"};
  for (size_t i = 0; i < std::size(names); ++i) json[names[i]] = numbers[i];
  return json;
}

const char* const kQwen3 = R"({"architectures": ["Qwen3ForCausalLM"], "attention_bias": false,
  "attention_dropout": 0.0, "bos_token_id": 151643, "eos_token_id": 151645, "head_dim": 128,
  "hidden_act": "silu", "initializer_range": 0.02, "max_position_embeddings": 40960, "max_window_layers": 36,
  "model_type": "qwen3", "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000,
  "sliding_window": null, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
  "transformers_version": "4.51.0", "use_cache": true, "use_sliding_window": false})";

const char* const kQwen2 = R"({"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0,
  "bos_token_id": 151643, "eos_token_id": 151645, "hidden_act": "silu", "initializer_range": 0.02,
  "max_position_embeddings": 32768, "max_window_layers": 28, "model_type": "qwen2", "rms_norm_eps": 1e-06,
  "rope_theta": 1000000.0, "sliding_window": 131072, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
  "transformers_version": "4.43.1", "use_cache": true, "use_sliding_window": false})";

const char* const kLlama2 = R"({"_name_or_path": "meta-llama/Llama-2-7b-hf",
  "architectures": ["LlamaForCausalLM"], "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu",
  "initializer_range": 0.02, "max_length": 4096, "max_position_embeddings": 4096, "model_type": "llama",
  "pad_token_id": 0, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": null,
  "tie_word_embeddings": false, "torch_dtype": "float16", "transformers_version": "4.31.0.dev0",
  "use_cache": true})";

const char* const kLlama3 = R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false,
  "attention_dropout": 0.0, "bos_token_id": 128000, "eos_token_id": [128001, 128008, 128009],
  "hidden_act": "silu", "initializer_range": 0.02, "max_position_embeddings": 131072, "mlp_bias": false,
  "model_type": "llama", "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 8.0,
  "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
  "rope_type": "llama3"}, "rope_theta": 500000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
  "transformers_version": "4.42.3", "use_cache": true})";

const char* const kMistral = R"({"architectures": ["MistralForCausalLM"], "bos_token_id": 1,
  "eos_token_id": 2, "hidden_act": "silu", "initializer_range": 0.02, "max_position_embeddings": 32768,
  "model_type": "mistral", "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.34.0.dev0",
  "use_cache": true})";

struct Published {
  const char* name;
  const char* text;
  std::vector<int64_t> numbers;
  std::vector<std::pair<const char*, Json>> changes;  // of the text
  int64_t parameters;                                 // as published, a tied head counted once
};

std::vector<Published> published() {
  const std::pair<const char*, Json> tied = {"tie_word_embeddings", true};
  const auto llama3 = [](double factor) {
    Json rope = Json::parse(kLlama3)["rope_scaling"];
    rope["factor"] = factor;
    return std::pair<const char*, Json>("rope_scaling", rope);
  };
  const std::pair<const char*, Json> none = {"rope_scaling", nullptr}, code = {"rope_theta", 1e6};
  return {{"Qwen3-0.6B", kQwen3, {1024, 3072, 28, 16, 8, 151936}, {tied}, 596049920},
          {"Qwen3-1.7B", kQwen3, {2048, 6144, 28, 16, 8, 151936}, {tied}, 1720574976},
          {"Qwen3-4B", kQwen3, {2560, 9728, 36, 32, 8, 151936}, {tied}, 4022468096},
          {"Qwen3-8B", kQwen3, {4096, 12288, 36, 32, 8, 151936}, {}, 8190735360},
          {"Qwen3-14B", kQwen3, {5120, 17408, 40, 40, 8, 151936}, {}, 14768307200},
          {"Qwen3-32B", kQwen3, {5120, 25600, 64, 64, 8, 151936}, {}, 32762123264},
          {"Qwen2.5-0.5B", kQwen2, {896, 4864, 24, 14, 2, 151936}, {tied}, 494032768},
          {"Qwen2.5-Coder-1.5B", kQwen2, {1536, 8960, 28, 12, 2, 151936}, {tied}, 1543714304},
          {"Qwen2.5-3B", kQwen2, {2048, 11008, 36, 16, 2, 151936}, {tied}, 3085938688},
          {"Qwen2.5-Coder-7B", kQwen2, {3584, 18944, 28, 28, 4, 152064}, {}, 7615616512},
          {"Qwen2.5-14B", kQwen2, {5120, 13824, 48, 40, 8, 152064}, {}, 14770033664},
          {"QwQ-32B", kQwen2, {5120, 27648, 64, 40, 8, 152064}, {{"sliding_window", 32768}}, 32763876352},
          {"DeepSeek-R1-Distill-Qwen-7B",
           kQwen2,
           {3584, 18944, 28, 28, 4, 152064},
           {{"use_mrope", false}},
           7615616512},
          {"Llama-2-7b", kLlama2, {4096, 11008, 32, 32, 32, 32000}, {}, 6738415616},
          {"Llama-2-13b", kLlama2, {5120, 13824, 40, 40, 40, 32000}, {}, 13015864320},
          {"CodeLlama-7b", kLlama2, {4096, 11008, 32, 32, 32, 32016}, {code}, 6738546688},
          {"CodeLlama-34b", kLlama2, {8192, 22016, 48, 64, 8, 32000}, {code}, 33743970304},
          {"SmolLM2-135M",
           kLlama2,
           {576, 1536, 30, 9, 3, 49152},
           {tied, {"rope_theta", 100000}, {"is_llama_config", true}, {"rope_interleaved", false}},
           134515008},
          {"Meta-Llama-3-8B", kLlama3, {4096, 14336, 32, 32, 8, 128256}, {none}, 8030261248},
          {"Llama-3.1-8B", kLlama3, {4096, 14336, 32, 32, 8, 128256}, {}, 8030261248},
          {"Llama-3.2-1B",
           kLlama3,
           {2048, 8192, 16, 32, 8, 128256},
           {tied, llama3(32), {"head_dim", 64}},
           1235814400},
          {"Llama-3.2-3B",
           kLlama3,
           {3072, 8192, 28, 24, 8, 128256},
           {tied, llama3(32), {"head_dim", 128}},
           3212749824},
          {"Llama-3.3-70B", kLlama3, {8192, 28672, 80, 64, 8, 128256}, {}, 70553706496},
          {"Mistral-7B-v0.1", kMistral, {4096, 14336, 32, 32, 8, 32000}, {}, 7241732096},
          {"Mistral-7B-v0.3",
           kMistral,
           {4096, 14336, 32, 32, 8, 32768},
           {{"sliding_window", nullptr}},
           7248023552},
          {"Mistral-Nemo",
           kMistral,
           {5120, 14336, 40, 32, 8, 131072},
           {{"sliding_window", nullptr}, {"head_dim", 128}},
           12247782400}};
}

Json file_of(const Published& model) {
  Json json = shaped(model.text, model.numbers);
  for (const auto& [key, value] : model.changes) json[key] = value;
  return json;
}

// What every family writes alike is in the count of parameters; the rest is looked at here.
TEST_F(ModelConfigFile, OfPublishedModelsIsReadAndWrittenBack) {
  for (const Published& model : published()) {
    SCOPED_TRACE(model.name);
    const Json json = file_of(model);
    const ModelConfig c = read(json);
    EXPECT_EQ(c.parameter_count(), model.parameters);
    EXPECT_EQ(c.model_type, json["model_type"].get<std::string>());
    EXPECT_EQ(c.rms_norm_eps, json["rms_norm_eps"].get<double>());
    EXPECT_EQ(c.rope_theta, json.value("rope_theta", 10000.0));
    EXPECT_EQ(c.max_position_embeddings, json["max_position_embeddings"].get<int64_t>());
    EXPECT_EQ(c.head_dim, json.value("head_dim", c.hidden_size / c.num_attention_heads));
    EXPECT_EQ(c.qk_norm, c.model_type == "qwen3");
    EXPECT_EQ(c.qkv_bias, c.model_type == "qwen2");
    EXPECT_FALSE(c.o_bias || c.mlp_bias);
    const Json rope = json.value("rope_scaling", Json());
    EXPECT_EQ(c.rope.kind, rope.is_null() ? RopeKind::kNone : RopeKind::kLlama3);
    EXPECT_EQ(c.rope.factor, rope.is_null() ? 1 : rope["factor"].get<double>());
    EXPECT_EQ(c.window_of(0), std::string(model.name) == "Mistral-7B-v0.1" ? 4096 : 0);
    write_model_config(dir_, c, DType::kBF16, {{}, {2}, 0});
    EXPECT_EQ(read_model_config(dir_), c);
  }
}

// Source: transformers/models/*/configuration_*.py, 5.17.
TEST_F(ModelConfigFile, MissingKeysAreTheFamilysDefaults) {
  struct Defaults {
    const char* type;
    int64_t vocab, inner, kv_heads, positions, window;
  };
  for (const Defaults& d : {Defaults{"qwen3", 151936, 22016, 32, 32768, 0},
                            {"qwen2", 151936, 22016, 32, 32768, 0},
                            {"llama", 32000, 11008, 32, 2048, 0},
                            {"mistral", 32000, 14336, 8, 131072, 4096}}) {
    const ModelConfig c = read({{"model_type", d.type}});
    EXPECT_EQ(c.vocab_size, d.vocab);
    EXPECT_EQ(c.intermediate_size, d.inner);
    EXPECT_EQ(c.num_key_value_heads, d.kv_heads);
    EXPECT_EQ(c.max_position_embeddings, d.positions);
    EXPECT_EQ(c.window_of(31), d.window);
    EXPECT_EQ(c.head_dim, 128);
    EXPECT_EQ(c.hidden_size, 4096);
    EXPECT_FALSE(c.tie_word_embeddings);
  }
}

TEST_F(ModelConfigFile, RopeAsTransformers4And5WriteIt) {
  const Json base = shaped(kLlama2, {64, 96, 2, 4, 2, 100});
  const RopeScaling linear{.kind = RopeKind::kLinear, .factor = 4};
  EXPECT_EQ(read(with(base, "rope_scaling", {{"type", "linear"}, {"factor", 4.0}})).rope, linear);
  EXPECT_EQ(read(with(base, "rope_scaling", {{"rope_type", "linear"}, {"factor", 4}})).rope, linear);
  const ModelConfig five = read(with(without(base, "rope_scaling"), "rope_parameters",
                                     {{"rope_type", "linear"}, {"factor", 4.0}, {"rope_theta", 5e5}}));
  EXPECT_EQ(five.rope, linear);
  EXPECT_EQ(five.rope_theta, 5e5);
  // transformers 5 takes the model's longest sequence where a llama3 rope does not name the old one.
  const Json llama3 = {
      {"rope_type", "llama3"}, {"factor", 8.0}, {"low_freq_factor", 1.0}, {"high_freq_factor", 4.0}};
  EXPECT_EQ(read(with(base, "rope_scaling", llama3)).rope.original_max_position_embeddings, 4096);
}

TEST_F(ModelConfigFile, RefusesRopesThatAreNotBuiltOrDoNotAgree) {
  const Json base = shaped(kLlama2, {64, 96, 2, 4, 2, 100});
  const auto scaled = [&](const Json& rope) { return error(with(base, "rope_scaling", rope)); };
  for (const char* type : {"yarn", "dynamic", "longrope", "su", "mrope"})
    EXPECT_THAT(scaled({{"type", type}, {"factor", 4.0}}),
                HasSubstr(fmt::format(
                    "rope_type = \"{}\" is not supported: must be default, linear or llama3", type)));
  EXPECT_THAT(scaled({{"rope_type", "linear"}}), HasSubstr("rope_scaling: factor is missing"));
  EXPECT_THAT(scaled({{"rope_type", "linear"}, {"factor", 4.0}, {"attention_factor", 1.0}}),
              HasSubstr("attention_factor = 1.0 is not known"));
  EXPECT_THAT(scaled({{"rope_type", "llama3"}, {"factor", 8.0}, {"low_freq_factor", 1.0}}),
              HasSubstr("high_freq_factor is missing"));
  EXPECT_THAT(
      scaled({{"rope_type", "llama3"}, {"factor", 8.0}, {"low_freq_factor", 4.0}, {"high_freq_factor", 4.0}}),
      HasSubstr("is not above low_freq_factor"));
  EXPECT_THAT(scaled({{"rope_type", "linear"}, {"type", "yarn"}, {"factor", 4.0}}), HasSubstr("must agree"));
  EXPECT_THAT(scaled({{"rope_type", "linear"}, {"factor", 4.0}, {"partial_rotary_factor", 0.5}}),
              HasSubstr("partial_rotary_factor = 0.5: must be 1 to 1"));
  EXPECT_THAT(scaled("linear"), HasSubstr("must be an object"));
  EXPECT_THAT(scaled({{"full_attention", {{"rope_type", "default"}}}}), HasSubstr("full_attention"));
  Json both = with(base, "rope_theta", 10000.0);
  both["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5e5}};
  EXPECT_THAT(error(both), HasSubstr("rope_theta = 500000, but it is 10000 elsewhere in the file"));
  both["rope_parameters"]["rope_theta"] = 10000.0;
  both["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 2.0}};
  EXPECT_THAT(error(both), HasSubstr("rope_scaling differs from rope_parameters"));
}

TEST_F(ModelConfigFile, WindowsByLayer) {
  Json base = shaped(kQwen2, {64, 96, 4, 4, 2, 100});
  base["use_sliding_window"] = true;
  base["sliding_window"] = 16;
  base["max_window_layers"] = 3;
  ModelConfig c = read(base);
  EXPECT_EQ(c.windowed, (std::vector<uint8_t>{0, 0, 0, 1}));
  EXPECT_EQ(c.window_of(2), 0);
  EXPECT_EQ(c.window_of(3), 16);
  write_model_config(dir_, c, DType::kF32, {{}, {2}, 0});
  EXPECT_EQ(read_model_config(dir_), c);
  base["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention", "full_attention"};
  c = read(base);
  EXPECT_EQ(c.windowed, (std::vector<uint8_t>{1, 0, 1, 0}));
  write_model_config(dir_, c, DType::kF32, {{}, {2}, 0});
  EXPECT_EQ(read_model_config(dir_), c);
  EXPECT_EQ(read(with(without(base, "layer_types"), "max_window_layers", 4)).sliding_window, 0);
  EXPECT_EQ(read(with(base, "max_position_embeddings", 16)).window_of(0), 0);  // nobody can leave it

  base["layer_types"][1] = "chunked_attention";
  EXPECT_THAT(error(base), HasSubstr("layer_types"));
  base["layer_types"] = {"full_attention"};
  EXPECT_THAT(error(base), HasSubstr("must be a list of 4 names"));
  base["layer_types"] =
      Json::array({"sliding_attention", "full_attention", "full_attention", "full_attention"});
  base["use_sliding_window"] = false;
  EXPECT_THAT(error(base),
              HasSubstr("layer_types[0] is sliding_attention, but the model has no sliding_window"));
  const Json mistral = shaped(kMistral, {64, 96, 2, 4, 2, 100});
  EXPECT_THAT(error(with(mistral, "layer_types", {"sliding_attention", "full_attention"})),
              HasSubstr("sliding_attention in every layer"));
  EXPECT_EQ(read(mistral).window_of(0), 4096);
}

TEST_F(ModelConfigFile, BiasesAreTheFamilysOwn) {
  const Json llama = shaped(kLlama3, {64, 96, 2, 4, 2, 100}), qwen3 = shaped(kQwen3, {64, 96, 2, 4, 2, 100});
  ModelConfig c = read(with(llama, "attention_bias", true));
  EXPECT_TRUE(c.qkv_bias && c.o_bias && !c.mlp_bias && !c.qk_norm);
  c = read(with(llama, "mlp_bias", true));
  EXPECT_TRUE(!c.qkv_bias && !c.o_bias && c.mlp_bias);
  write_model_config(dir_, c, DType::kF32, {{}, {2}, 0});
  EXPECT_EQ(read_model_config(dir_), c);
  c = read(with(qwen3, "attention_bias", true));
  EXPECT_TRUE(c.qkv_bias && c.o_bias && c.qk_norm);
  write_model_config(dir_, c, DType::kF32, {{}, {2}, 0});
  EXPECT_EQ(read_model_config(dir_), c);
  EXPECT_THAT(error(with(shaped(kMistral, {64, 96, 2, 4, 2, 100}), "attention_bias", true)),
              HasSubstr("attention_bias = true is not supported: must be false"));
  EXPECT_THAT(error(with(shaped(kQwen2, {64, 96, 2, 4, 2, 100}), "attention_bias", false)),
              HasSubstr("attention_bias = false is not supported: must be true"));
}

// A key that changes the computation and is not understood never passes.
TEST_F(ModelConfigFile, RefusesWhatItDoesNotKnowByName) {
  const Json base = shaped(kQwen3, {64, 96, 2, 4, 2, 100});
  EXPECT_EQ(error(base), "none");
  struct Refusal {
    const char* key;
    Json value;
    const char* text;
  };
  const Refusal refusals[] = {
      {"model_type", "gemma3",
       "model_type = \"gemma3\" is not supported: must be one of qwen3, qwen2, llama, mistral"},
      {"model_type", 7, "model_type = 7: must be a string"},
      {"model_type", nullptr, "model_type is missing"},
      {"architectures", {"Qwen3ForSequenceClassification"}, "must be [\"Qwen3ForCausalLM\"]"},
      {"hidden_act", "gelu", "hidden_act = \"gelu\" is not supported: must be \"silu\""},
      {"quantization_config", {{"quant_method", "fp8"}}, "the weights are quantised (quant_method \"fp8\")"},
      {"quantization_config", {{"quant_method", "awq"}, {"bits", 4}}, "quant_method \"awq\""},
      {"num_experts", 128, "num_experts = 128 is not known of qwen3"},
      {"moe_intermediate_size", 768, "moe_intermediate_size"},
      {"final_logit_softcapping", 30.0, "final_logit_softcapping"},
      {"logits_scaling", 8.0, "logits_scaling"},
      {"partial_rotary_factor", 0.5, "partial_rotary_factor = 0.5 is not supported: must be 1.0"},
      {"pretraining_tp", 2, "pretraining_tp = 2 is not supported: must be 1"},
      {"rope_interleaved", true, "rope_interleaved = true is not supported: must be false"},
      {"is_llama_config", false, "is_llama_config = false is not supported: must be true"},
      {"auto_map", {{"AutoModelForCausalLM", "modeling_x.X"}}, "auto_map"},
      {"mlp_bias", true, "mlp_bias = true is not supported: must be false"},
      {"hidden_size", "64", "hidden_size = \"64\": must be an integer"},
      {"hidden_size", -64, "hidden_size = -64: must be 1 to 65536"},
      {"hidden_size", 1.5, "hidden_size = 1.5: must be an integer"},
      {"vocab_size", 18446744073709551615u, "vocab_size = 18446744073709551615: must be 1 to"},
      {"head_dim", 7, "head_dim"},
      {"num_key_value_heads", 3, "does not divide num_attention_heads"},
      {"tie_word_embeddings", 1, "tie_word_embeddings = 1: must be true or false"}};
  for (const Refusal& r : refusals) EXPECT_THAT(error(with(base, r.key, r.value)), HasSubstr(r.text));
  // The type is looked at first: of another family every key would be unknown.
  Json other = with(base, "model_type", "gemma3");
  other["query_pre_attn_scalar"] = 256;
  EXPECT_THAT(error(other), HasSubstr("model_type"));
  EXPECT_EQ(error(with(base, "quantization_config", nullptr)), "none");
  EXPECT_EQ(error(with(base, "pretraining_tp", 1)), "none");
}

TEST_F(ModelConfigFile, OptionsTakeTheFamilysOwnChoice) {
  const auto parse = [&](const std::vector<std::string>& words) {
    ModelConfig config;
    Problems problems;
    read_options([&](OptionVisitor& v) { config.visit(v); }, "", words, problems);
    config.validate("model", problems);
    problems.throw_if_any();
    write_model_config(dir_, config, DType::kF32, {{}, {2}, 0});
    EXPECT_EQ(read_model_config(dir_), config);
    return config;
  };
  EXPECT_EQ(parse({}), ModelConfig());
  ModelConfig c = parse({"model_type=qwen2"});
  EXPECT_TRUE(c.qkv_bias && !c.qk_norm && !c.o_bias);
  c = parse({"sliding_window=64", "rope_type=llama3", "rope_factor=8", "model_type=mistral"});
  EXPECT_TRUE(!c.qkv_bias && !c.qk_norm);
  EXPECT_EQ(c.window_of(3), 64);
  EXPECT_EQ(c.rope, (RopeScaling{.kind = RopeKind::kLlama3, .factor = 8}));
  c = parse({"model_type=llama", "rope_type=linear", "rope_factor=2.5"});
  EXPECT_EQ(c.rope, (RopeScaling{.kind = RopeKind::kLinear, .factor = 2.5}));
  EXPECT_EQ(parse({"sliding_window=9"}).window_of(0), 9);
  EXPECT_THROW(parse({"model_type=gemma"}), ConfigError);
  EXPECT_THROW(parse({"model_type=llama", "sliding_window=9"}), ConfigError);
  EXPECT_THROW(parse({"model_type=llama", "hidden_size=130"}), ConfigError);
  EXPECT_THROW(parse({"rope_type=yarn"}), ConfigError);
}

}  // namespace
}  // namespace temper::policy
