#pragma once
// What the keys of a config.json mean to Temper: understood, known not to change the network, or not known.

#include <nlohmann/json.hpp>
#include <string>

namespace temper::policy {

// Our own: the dtype that exports have by default, where the folder's is another.
inline constexpr const char* kExportDtype = "temper_export_dtype";

// Errors: ConfigError naming the file and the key that changes what the network computes in a way that is not
// built, or that is not known.
void check_config_keys(const nlohmann::json& config, const std::string& model_type, const std::string& path);

// "LlamaForCausalLM" of "llama".
std::string architecture_of(const std::string& model_type);

}  // namespace temper::policy
