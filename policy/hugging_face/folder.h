#pragma once
// Folders that users take for a model and that are none, or not a whole one: what each is, and the way out.

#include <filesystem>
#include <string>

namespace temper::policy {

// Why neither model.safetensors nor its index is there, with the way out. Never empty.
std::string why_no_weights(const std::filesystem::path& dir);

// Errors: ConfigError if `dir` is no folder of a model, saying what it is instead and the way out.
void check_model_folder(const std::filesystem::path& dir);

// What a reader of quantised weights is told to do.
extern const char* const kUnquantised;

}  // namespace temper::policy
