#pragma once
// Where tasks lie that a config names by a relative path.

#include <filesystem>

namespace temper {

// `path`; or, where a relative one is not there, what has that name beside the program: in the checkout of a
// build folder, or in share/temper of an installed program.
std::filesystem::path place_of_tasks(const std::filesystem::path& path);

}  // namespace temper
