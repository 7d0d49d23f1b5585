#pragma once
// The names that a folder gives to tokens.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace temper::policy {

// tokenizer_config.json, and over it special_tokens_map.json, which counts only where the former has no
// added_tokens_decoder. `files`: name → content. Errors: ConfigError naming the file.
//
// Source: PreTrainedTokenizerBase._from_pretrained of transformers 5.17.
nlohmann::json token_settings(const std::map<std::string, std::string>& files);

// bos_token, eos_token, …, and those that the folder made up, such as image_token → the token's text.
std::map<std::string, std::string> named_tokens(const nlohmann::json& settings);

}  // namespace temper::policy
