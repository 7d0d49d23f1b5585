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
  int depth = 32;  // of containers in containers
  int64_t values = 1'000'000;
};

// Of what a user gives a command: it may be long, and is nowhere deep.
constexpr JsonLimits kWholeInput{.bytes = UINT64_MAX, .depth = 8, .values = INT64_MAX};

// Any JSON text. Errors: ConfigError beginning with `where` if it is not JSON (base/input/json_events.h),
// names a key twice in one object or goes beyond the limits.
nlohmann::json parse_json(std::string_view text, const std::string& where, const JsonLimits& limits = {});
// As above, of text whose outermost value must be an object.
nlohmann::json parse_json_object(std::string_view text, const std::string& where,
                                 const JsonLimits& limits = {});
// The same of a whole file. Errors: as above, and as base/input/file.h's.
nlohmann::json read_json(const std::filesystem::path& path, const JsonLimits& limits = {});

// The same of CBOR, whose texts may be any bytes.
nlohmann::json parse_cbor(std::string_view bytes, const std::string& where, const JsonLimits& limits = {});

// A value as a message shows it: short, without what a terminal obeys.
std::string shown(const nlohmann::json& value);

// None where it is not an integer, or not one of 64 bits with a sign.
std::optional<int64_t> whole_number(const nlohmann::json& value);

}  // namespace temper
