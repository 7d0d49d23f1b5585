#pragma once
// The command line: one file per command. Each add_… declares a subcommand whose callback does the work and
// sets the exit code.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "trainer/app/checks.h"
#include "trainer/config/config.h"

namespace temper::trainer {

void add_train(CLI::App& app, int& exit_code);
void add_eval(CLI::App& app, int& exit_code);
void add_judge(CLI::App& app, int& exit_code);
void add_collect(CLI::App& app, int& exit_code);
void add_generate(CLI::App& app, int& exit_code);
void add_tokenize(CLI::App& app, int& exit_code);
void add_logprobs(CLI::App& app, int& exit_code);
void add_export(CLI::App& app, int& exit_code);
void add_show(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_sweep(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_options(CLI::App& app, int& exit_code);
void add_tasks(CLI::App& app, int& exit_code);
void add_model(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_version(CLI::App& app, int& exit_code);

// RUN.yaml and key=value words, as several commands take them.
struct ConfigWords {
  std::string path;
  std::vector<std::string> overrides;
  // With everything decided that the model decides; `model`, unless it is empty, in place of model.path.
  RunConfig read(const std::string& model = "") const;
};
// Reads the config of a command that needs model.path, which may name a run (trainer/checkpoint/find_model.h).
RunConfig read_with_model(const ConfigWords& words);
// The same for a command that learns nothing: how a training run shares its optimizer over ranks is not held against it.
RunConfig read_to_sample(const ConfigWords& words);
// The model's folder for --model or for a path on the command line. If it names a run, what is chosen is printed.
std::filesystem::path model_folder(const std::string& path, const std::string& field);
// load_tasks, which says on standard error what of problems in PyTorch is left out, if `tells`.
std::vector<env::Task> tasks_and_notes(const RunConfig& config, bool tells);
void declare_config(CLI::App& command, ConfigWords& words);
void declare_overrides(CLI::App& command, ConfigWords& words);

// A file of a run's recorded trajectories. `which` is a step's number or a name; if it is empty, the last evaluation is
// chosen, or else the last step. Errors: ConfigError in the name of `command`.
std::filesystem::path trajectories_file(const std::string& run, const std::string& which,
                                        const std::string& command);

// A file's content, or standard input for "-". Errors: ConfigError if there is no such file.
std::string read_input(const std::string& path);

}  // namespace temper::trainer
