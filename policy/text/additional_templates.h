#pragma once
// Chat templates in a folder of their own.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace temper::policy {

// Takes additional_chat_templates/NAME.jinja of `dir` into `files`, name → content, so that they mean the same without that
// folder. default.jinja goes before chat_template.jinja. Where neither is there, the others go before what
// tokenizer_config.json says, and none of them is the default. Errors: ConfigError naming the file.
//
// Source: PreTrainedTokenizerBase._from_pretrained of transformers 5.17.
void take_additional_templates(const std::filesystem::path& dir, uint64_t most_bytes,
                               std::map<std::string, std::string>& files);

}  // namespace temper::policy
