#pragma once
// Problems out of a file with a JSON object a line; for module_reader.cc only.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace temper::env {

// A problem as it lies somewhere.
struct FoundProblem {
  int64_t level = 0, id = 0;
  std::string name;    // "19_ReLU", any text
  std::string family;  // "level1"
  std::string source;
  std::string origin;  // for messages: a file, or a file and a line
};

// Adds the file's problems, and a note for each line without one. `field` as in ModuleOptions.
void read_problem_lines(const std::filesystem::path& file, const std::string& field,
                        std::vector<FoundProblem>& found, std::vector<std::string>& notes);

}  // namespace temper::env
