#pragma once
// A folder that libraries of Hugging Face keep what they fetched in, as HF_HOME names it: hub/models--OWNER--NAME.

#include <filesystem>
#include <string>

namespace temper::env {

// The folder in it that holds models--…. Errors: ConfigError if there is none, saying what is expected.
std::filesystem::path hub_folder(const std::string& cache);

// Whether the cache holds something of that repository: "gpt2", "google/electra-small-discriminator".
bool holds_repository(const std::string& cache, const std::string& repository);

}  // namespace temper::env
