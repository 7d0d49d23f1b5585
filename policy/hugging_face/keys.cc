#include "policy/hugging_face/keys.h"

#include <map>
#include <set>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "policy/hugging_face/folder.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;

// Read into a ModelConfig, whatever the family.
const std::set<std::string> kUnderstood = {
    "model_type",          "vocab_size",        "hidden_size",
    "intermediate_size",   "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "head_dim",          "tie_word_embeddings",
    "rms_norm_eps",        "rope_theta",        "rope_scaling",
    "rope_parameters",     "layer_types",       "max_position_embeddings"};

const std::map<std::string, std::set<std::string>> kUnderstoodOf = {
    {"qwen3", {"attention_bias", "use_sliding_window", "sliding_window", "max_window_layers"}},
    {"qwen2", {"use_sliding_window", "sliding_window", "max_window_layers"}},
    {"llama", {"attention_bias", "mlp_bias"}},
    {"mistral", {"sliding_window"}}};

// Of training, of sampling, of other tasks, or of the program that wrote the file.
const std::set<std::string> kHarmless = {"_attn_implementation",
                                         "_attn_implementation_autoset",
                                         "_commit_hash",
                                         "_name_or_path",
                                         "attention_dropout",
                                         "attn_implementation",
                                         "bad_words_ids",
                                         "begin_suppress_tokens",
                                         "bos_token_id",
                                         "chunk_size_feed_forward",
                                         "cls_token_id",
                                         "decoder_start_token_id",
                                         "diversity_penalty",
                                         "do_sample",
                                         "dtype",
                                         "early_stopping",
                                         "encoder_no_repeat_ngram_size",
                                         "eos_token_id",
                                         "exponential_decay_length_penalty",
                                         "finetuning_task",
                                         "forced_bos_token_id",
                                         "forced_eos_token_id",
                                         "gradient_checkpointing",
                                         "id2label",
                                         "initializer_range",
                                         "is_decoder",
                                         "keys_to_ignore_at_inference",
                                         "label2id",
                                         "length_penalty",
                                         "mask_token_id",
                                         "max_length",
                                         "max_sequence_length",
                                         "min_length",
                                         "name_or_path",
                                         "no_repeat_ngram_size",
                                         "num_beam_groups",
                                         "num_beams",
                                         "num_return_sequences",
                                         "output_attentions",
                                         "output_hidden_states",
                                         "output_scores",
                                         "pad_token_id",
                                         "prefix",
                                         "problem_type",
                                         "remove_invalid_values",
                                         "repetition_penalty",
                                         "return_dict",
                                         "return_dict_in_generate",
                                         "sep_token_id",
                                         "suppress_tokens",
                                         "task_specific_params",
                                         kExportDtype,
                                         "temperature",
                                         "tf_legacy_loss",
                                         "tie_encoder_decoder",
                                         "tokenizer_class",
                                         "top_k",
                                         "top_p",
                                         "torch_dtype",
                                         "torchscript",
                                         "transformers.js_config",
                                         "transformers_version",
                                         "typical_p",
                                         "unk_token_id",
                                         "unsloth_fixed",
                                         "unsloth_version",
                                         "use_bfloat16",
                                         "use_cache"};

// Known, and built for one value alone. Null stands for it too.
const std::map<std::string, Json> kOnly = {{"hidden_act", "silu"},
                                           {"pretraining_tp", 1},
                                           {"partial_rotary_factor", 1.0},
                                           {"attention_bias", false},
                                           {"mlp_bias", false},
                                           {"use_mrope", false},
                                           {"rope_interleaved", false},
                                           {"is_llama_config", true},
                                           {"is_encoder_decoder", false},
                                           {"add_cross_attention", false},
                                           {"pruned_heads", Json::object()},
                                           {"cross_attention_hidden_size", nullptr}};

void check_architectures(const Json& names, const std::string& model_type, const std::string& path) {
  const std::string mine = architecture_of(model_type);
  if (names.is_null() || names == Json::array({mine})) return;
  throw ConfigError("{}: architectures = {} is not supported: must be [\"{}\"]", path, shown(names), mine);
}

void check_quantization(const std::string& key, const Json& quantization, const std::string& path) {
  if (quantization.is_null()) return;
  const std::string method =
      shown(quantization.is_object() ? quantization.value("quant_method", Json()) : quantization);
  throw ConfigError("{}: {}: the weights are quantised (quant_method {}): must be F32, F64, BF16 or F16; {}",
                    path, key, method, kUnquantised);
}

// Qwen2's projections have biases whether the file says so or not.
Json only_value(const std::string& key, const std::string& model_type) {
  if (key == "attention_bias" && model_type == "qwen2") return true;
  return kOnly.at(key);
}

}  // namespace

std::string architecture_of(const std::string& model_type) {
  static const std::map<std::string, std::string> names = {{"qwen3", "Qwen3ForCausalLM"},
                                                           {"qwen2", "Qwen2ForCausalLM"},
                                                           {"llama", "LlamaForCausalLM"},
                                                           {"mistral", "MistralForCausalLM"}};
  return names.at(model_type);
}

void check_config_keys(const Json& config, const std::string& model_type, const std::string& path) {
  const auto& own = kUnderstoodOf.at(model_type);
  for (const auto& [key, value] : config.items()) {
    if (kUnderstood.contains(key) || own.contains(key) || kHarmless.contains(key)) continue;
    if (key == "architectures") {
      check_architectures(value, model_type, path);
    } else if (key == "quantization_config" || key == "quantization" || key == "compression_config") {
      check_quantization(key, value, path);
    } else if (!kOnly.contains(key)) {
      throw ConfigError("{}: {} = {} is not known of {}; it might change what the network computes", path,
                        printable(key), shown(value), model_type);
    } else if (const Json only = only_value(key, model_type); !value.is_null() && value != only) {
      throw ConfigError("{}: {} = {} is not supported: must be {}", path, key, shown(value), shown(only));
    }
  }
}

}  // namespace temper::policy
