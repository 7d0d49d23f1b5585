#include <filesystem>
#include <iostream>
#include <iterator>

#include "base/error.h"
#include "base/files.h"
#include "trainer/interrupted.h"
#include "trainer/commands/commands.h"

namespace temper {

void declare_config(CLI::App& command, ConfigWords& words) {
  command.add_option("config", words.path, "RUN.yaml")->required();
  declare_overrides(command, words);
}

void declare_overrides(CLI::App& command, ConfigWords& words) {
  command.add_option("overrides", words.overrides, "options, as key=value");
  command.footer([] {
    RunConfig config;
    return options_to_help([&](OptionVisitor& v) { config.visit(v); });
  });
}

std::string read_input(const std::string& path) {
  if (path == "-") {
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    throw_if_interrupted();  // a signal ends a read like the end of the input
    return text;
  }
  if (std::filesystem::is_directory(path)) throw ConfigError("{}: is a folder, not a file", path);
  if (!std::filesystem::exists(path)) throw ConfigError("{}: no such file", path);
  return read_file(path);
}

}  // namespace temper
