#include <filesystem>
#include <iostream>
#include <iterator>

#include "base/error.h"
#include "base/files.h"
#include "trainer/checkpoint/find_model.h"
#include "trainer/commands/commands.h"
#include "trainer/console.h"

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

std::filesystem::path model_folder(const std::string& path, const std::string& field) {
  const FoundModel found = find_model(path, field);
  if (!found.choice.empty()) say_beside(found.choice);
  return found.dir;
}

RunConfig read_with_model(const ConfigWords& words) {
  RunConfig config = words.read();
  if (!config.model.path.empty()) config.model.path = model_folder(config.model.path, "model.path").string();
  return config;
}

std::string read_input(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  if (std::filesystem::is_directory(path)) throw ConfigError("{}: is a folder, not a file", path);
  if (!std::filesystem::exists(path)) throw ConfigError("{}: no such file", path);
  return read_file(path);
}

}  // namespace temper
