#pragma once
// model.safetensors.index.json: which of a directory's files holds which tensor.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace temper::policy {

struct WeightIndex {
  std::map<std::string, std::string> files;  // tensor → file of the directory
  std::optional<uint64_t> total_size;        // bytes of all tensors
};

// Errors: ConfigError beginning with `path` where it is not such a file, or names anything but files beside
// it.
WeightIndex parse_weight_index(std::string_view text, const std::string& path);

// Errors: as above, and those of base/input/file.h.
WeightIndex read_weight_index(const std::filesystem::path& path);

}  // namespace temper::policy
