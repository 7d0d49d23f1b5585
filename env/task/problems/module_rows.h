#pragma once
// Problems in PyTorch out of rows; for module_reader.cc only.

#include <filesystem>
#include <string>
#include <vector>

#include "env/task/problems/found_problem.h"
#include "env/task/problems/module_form.h"

namespace temper::env {

// Adds the problems of the files, one after another, what was left out, and a line that says how the rows were read.
// `pythons`: for parquet. Errors: ConfigError if a field is named that no row has; those of a file that is no such file.
void read_problem_rows(const std::vector<std::filesystem::path>& files, const ModuleFields& fields,
                       const std::vector<std::string>& pythons, FoundProblems& found);

}  // namespace temper::env
