#pragma once
// The files of a Hugging Face directory that hold the network.

#include <filesystem>
#include <optional>
#include <vector>

#include "policy/policy.h"

namespace temper {

struct EndTokens {
  std::optional<int32_t> begin;
  std::vector<int32_t> end;  // any of them ends an answer
  int32_t pad;
};

// config.json and generation_config.json; read_model_config reads the former back.
void write_model_config(const std::filesystem::path& dir, const ModelConfig& config, DType dtype,
                        const EndTokens& end);

// model.safetensors: every parameter under its name, in the store's dtype.
void write_weights(const std::filesystem::path& dir, const Policy& policy);

// Fills every parameter from model.safetensors, or from the files that model.safetensors.index.json lists.
// F32, F64, BF16 and F16 are converted to the store's dtype. Errors: ConfigError naming the file and the
// tensor that is missing, not expected, or of another shape.
void read_weights(const std::filesystem::path& dir, Policy& policy);

}  // namespace temper
