#pragma once
// The files of a Hugging Face directory that hold the network.

#include <filesystem>
#include <optional>
#include <vector>

#include "policy/hugging_face/hugging_face.h"
#include "policy/policy.h"

namespace temper::policy {

struct EndTokens {
  std::optional<int32_t> begin;
  std::vector<int32_t> end;  // any of them ends an answer
  std::optional<int32_t> pad;
};

// config.json, which read_model_config reads back. `dtype` is the one that the weights are stored in, as config.json
// spells it; `export_dtype`, if it is not empty, the one of exports, as Origin has it.
void write_model_config(const std::filesystem::path& dir, const ModelConfig& config, const std::string& dtype,
                        const EndTokens& end, const std::string& export_dtype = "");
void write_model_config(const std::filesystem::path& dir, const ModelConfig& config, DType dtype,
                        const EndTokens& end);

// model.safetensors, or several files and model.safetensors.index.json: every parameter under its name.
void write_weights(const std::filesystem::path& dir, const Policy& policy, const ExportOptions& options = {});

// Fills every parameter from model.safetensors, or from the files that model.safetensors.index.json lists.
// F32, F64, BF16 and F16 are converted to the store's dtype. Errors: ConfigError naming the file and the
// tensor that is missing, not expected, of another shape or not finite.
void read_weights(const std::filesystem::path& dir, Policy& policy);

}  // namespace temper::policy
