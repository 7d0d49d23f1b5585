#pragma once
// YAML that strangers wrote. Brings yaml-cpp along.

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <string>

namespace temper {

// The document as a tree that can be walked: aliases are few and go nowhere in a circle. Errors: ConfigError
// "WHERE:LINE: …" if it is not valid YAML or not UTF-8, or would be larger than any such file is once all
// aliases are followed.
YAML::Node parse_yaml(const std::string& text, const std::string& where);
// Parses a whole file. Errors: as above, and those of base/input/file.h.
YAML::Node read_yaml(const std::filesystem::path& path);

}  // namespace temper
