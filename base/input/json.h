#pragma once
// JSON that strangers wrote, as a tree.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace temper {

// What a file may ask for. Trees that keep to it can be copied, compared and written by functions that call
// themselves.
struct JsonLimits {
  uint64_t bytes = 16'000'000;
  int depth = 32;  // nesting of containers
  int64_t values = 1'000'000;
};

// Limits for a user's input to a command, which may be long but is not deeply nested.
constexpr JsonLimits kWholeInput{.bytes = UINT64_MAX, .depth = 8, .values = INT64_MAX};

// Any JSON text. Errors: ConfigError beginning with `where` if it is not JSON (base/input/json_events.h),
// names a key twice in one object or goes beyond the limits.
nlohmann::json parse_json(std::string_view text, const std::string& where, const JsonLimits& limits = {});
// As above, of text whose outermost value must be an object.
nlohmann::json parse_json_object(std::string_view text, const std::string& where,
                                 const JsonLimits& limits = {});
// Parses a whole file. Errors: as above, and those of base/input/file.h.
nlohmann::json read_json(const std::filesystem::path& path, const JsonLimits& limits = {});

// Parses CBOR, whose texts may be any bytes.
nlohmann::json parse_cbor(std::string_view bytes, const std::string& where, const JsonLimits& limits = {});

// A value as messages show it: short, and without control sequences.
std::string shown(const nlohmann::json& value);

// Empty if the value is not an integer or does not fit into 64 bits with a sign.
std::optional<int64_t> whole_number(const nlohmann::json& value);

}  // namespace temper
