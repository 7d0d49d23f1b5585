#pragma once
// Files that hold no JSON, known by how they begin.

#include <string>
#include <string_view>

namespace temper {

inline constexpr size_t kTellingBytes = 512;  // so many tell

bool is_gzip(std::string_view begin);
bool is_parquet(std::string_view begin);

// Empty, or in words what the file is and how it becomes JSON. `begin`: its first bytes; `name`: its path.
std::string foreign_file(std::string_view begin, const std::string& name);

}  // namespace temper
