#pragma once
// Formats the output of --help: short, in lines that fit the terminal, with every default.

#include <CLI/CLI.hpp>
#include <string>

namespace temper::trainer {

// The width of standard output's terminal, at least 60, or 100 if it is not a terminal.
size_t terminal_width();

// For the program and all of its commands that are added later.
void use_own_help(CLI::App& app);

// After that --help prints what --help-all stands for: every option of a run too.
void show_everything();
bool shows_everything();

std::string full_name(const CLI::App& command);                 // "temper bench train"
std::string label_of(const CLI::Option& option);                // "RUN.yaml", "--out TEXT", "key=value"
std::vector<const CLI::App*> commands_of(const CLI::App& app);  // in the order they were added
std::vector<std::string> names_of_commands(const CLI::App& app);

}  // namespace temper::trainer
