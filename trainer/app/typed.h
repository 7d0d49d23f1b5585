#pragma once
// A command line as it is typed, and as CLI11 reads it.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace temper {

// `help X` and `--version` become what they stand for. --run.steps=5 becomes run.steps=5, for commands that
// take options of a run, behind all other words: it must not be taken for the config's name. Errors:
// ConfigError where no command or option is called so, with the near names and what other programs' names are
// here.
std::vector<std::string> as_meant(const CLI::App& app, std::vector<std::string> words);

}  // namespace temper
