#pragma once
// A command line as it is typed, and as CLI11 reads it.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace temper::trainer {

// Translates the command line. `help X` and `--version` become the commands that they stand for. For commands that
// take options of a run, --run.steps=5 becomes run.steps=5 and is moved to the end, so that it is not taken for the
// config's name. Errors: ConfigError for an unknown command or option, with similar names and our names for those of
// other programs.
std::vector<std::string> as_meant(const CLI::App& app, std::vector<std::string> words);

}  // namespace temper::trainer
