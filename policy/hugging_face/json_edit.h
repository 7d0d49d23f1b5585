#pragma once
// One value of a JSON text changed, and every other byte left: what a parser would write again, such as a number that
// it cannot hold, stays as it came.

#include <string>
#include <string_view>

namespace temper::policy {

// `text`: an object that has been parsed. The text with `value`, JSON too, as that of the outermost `key`, which is put
// at the end if it is not there.
std::string with_json_value(const std::string& text, std::string_view key, const std::string& value);

// The value's own text; empty if there is no such key.
std::string json_value_text(const std::string& text, std::string_view key);

}  // namespace temper::policy
