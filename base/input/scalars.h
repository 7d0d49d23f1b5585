#pragma once
// One value as people write it in YAML, in Python and on a command line.

#include <cstdint>
#include <string>

namespace temper {

// true, True, TRUE, yes, on and their opposites.
bool parse_scalar(const std::string& text, bool& value);
// 1000, 1_000 or 1e3: whole, and with an exponent at most 2^53, up to which no integer is rounded.
bool parse_scalar(const std::string& text, int64_t& value);
bool parse_scalar(const std::string& text, double& value);  // finite
bool parse_scalar(const std::string& text, std::string& value);

}  // namespace temper
