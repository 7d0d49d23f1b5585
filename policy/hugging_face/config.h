#pragma once
// config.json's text, without its file.

#include <string>
#include <string_view>

#include "policy/model_config.h"

namespace temper::policy {

// Errors: as read_model_config's, beginning with `path`.
ModelConfig parse_model_config(std::string_view text, const std::string& path);

}  // namespace temper::policy
