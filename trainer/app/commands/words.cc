#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "env/plan/triton/python.h"
#include "trainer/app/chat/template_renderer.h"
#include "trainer/app/checks.h"
#include "trainer/app/commands/commands.h"
#include "trainer/app/help.h"
#include "trainer/checkpoint/find_model.h"
#include "trainer/config/prompt_style.h"
#include "trainer/run/console.h"
#include "trainer/run/interrupted.h"
#include "trainer/run/terminal.h"

namespace temper::trainer {
namespace {

using Keys = std::vector<std::string>;

// What people set first, command by command.
const Keys& foremost(const std::string& command) {
  static const Keys learning = {"run.name",
                                "run.dir",
                                "run.seed",
                                "run.steps",
                                "run.max_seconds",
                                "model.path",
                                "model.device",
                                "tasks.path",
                                "tasks.names",
                                "rollout.tasks_per_step",
                                "rollout.samples_per_task",
                                "optimizer.lr"};
  static const Keys speed = {"model.hidden_size", "model.num_hidden_layers", "model.vocab_size",
                             "model.device", "run.threads"};
  static const std::map<std::string, Keys> others = {
      {"eval",
       {"model.path", "model.device", "tasks.path", "tasks.names", "eval.split", "eval.samples",
        "eval.turns"}},
      {"collect",
       {"model.path", "tasks.path", "tasks.names", "rollout.samples_per_task", "rollout.temperature",
        "run.seed"}},
      {"judge",
       {"tasks.path", "env.compile_timeout_s", "env.run_timeout_s", "env.min_pairs", "env.max_pairs",
        "env.gpus"}},
      {"tasks", {"tasks.path", "tasks.language"}},
      {"train", learning},
      {"sweep", learning}};
  const auto found = others.find(command);
  return found == others.end() ? speed : found->second;
}

std::string options_footer(const std::string& command) {
  RunConfig config;
  const VisitOptions visit = [&](OptionVisitor& v) { config.visit(v); };
  if (shows_everything()) return options_to_help(visit, {}, terminal_width());
  const Keys& keys = foremost(command);
  const auto wanted = [&](const std::string& key, std::string_view) {
    return std::ranges::count(keys, key) > 0;
  };
  return options_to_help(visit, wanted, terminal_width()) +
         "\nThese matter most; --help-all shows every option, `temper options PATTERN` searches them.\n";
}

}  // namespace

RunConfig ConfigWords::read(const std::string& model) const {
  RunConfig config = read_config(path, overrides);
  if (!model.empty()) config.model.path = model;
  decide_prompt_style(config);
  config.model.renderer = &chat_renderer();
  config.cold_start.pythons = env::python_places(config.env.python);
  config.tasks.problems.pythons = config.cold_start.pythons;
  config.tasks.problems.wheels = env::own_wheels();
  config.tasks.problems.huggingface = config.env.huggingface;
  return config;
}

void declare_config(CLI::App& command, ConfigWords& words) {
  command.add_option("config", words.path, "options of the run, as YAML; see configs/")
      ->transform(path_word())
      ->required();
  declare_overrides(command, words);
}

void declare_overrides(CLI::App& command, ConfigWords& words) {
  command.add_option("overrides", words.overrides,
                     "options of a run, over those of a file; the last one counts");
  command.footer([name = command.get_name()] { return options_footer(name); });
}

std::filesystem::path model_folder(const std::string& path, const std::string& field) {
  const FoundModel found = find_model(path, field);
  for (const std::string& line : {found.choice, found.ignored})
    if (!line.empty()) say_beside(line);
  return found.dir;
}

RunConfig read_with_model(const ConfigWords& words) {
  RunConfig config = words.read();
  if (!config.model.path.empty()) config.model.path = model_folder(config.model.path, "model.path").string();
  return config;
}

std::vector<env::Task> tasks_and_notes(const RunConfig& config, bool tells) {
  std::vector<std::string> notes;
  std::vector<env::Task> tasks = load_tasks(config, &notes);
  if (tells)
    for (const std::string& note : notes) say_beside(note);
  return tasks;
}

RunConfig read_to_sample(const ConfigWords& words) {
  RunConfig config = read_with_model(words);
  config.model.memory.shard_degree = 0;
  return config;
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

}  // namespace temper::trainer
