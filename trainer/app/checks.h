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

}  // namespace temper::trainer
