#pragma once
// Checks of an option's value, which say what is allowed: "'0' is not allowed: must be at least 1".

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace temper::trainer {

CLI::Validator at_least(double least);
CLI::Validator above(double bound);
CLI::Validator between(double least, double most);
CLI::Validator one_of(std::vector<std::string> words);

// A path, which may begin with ~ where the shell left it: --model=~/x, "~/x" (base/input/home.h).
CLI::Validator path_word();
// TEMPER_CHECK that every option of a command that takes a text is a path or one of the words that checks.cc lists.
void check_paths_are_known(CLI::App& app);

}  // namespace temper::trainer
