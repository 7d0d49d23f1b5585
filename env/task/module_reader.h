#pragma once
// Problems in KernelBench's format (env/task/module_problem.h) as tasks. Their Python is read as text and never run here.
//
// A path is one of
//   a checkout of KernelBench, or a folder with folders level1, level2, …   {id}_{name}.py in them
//   any other folder                    its *.py files that define Model, get_inputs or get_init_inputs
//   a file *.py
//   a file *.jsonl                      an object a line, one of whose fields holds such a source
//
// A name is made of level, number and name: level1_19_relu. The family is the level, or else the folder or file.

#include <filesystem>
#include <string>
#include <vector>

#include "env/task/task.h"

namespace temper::env {

struct ModuleOptions {
  std::string field = "";          // of a *.jsonl; empty: the first that is known and holds a problem
  std::string precision = "fp32";  // fp32, fp16 or bf16
  // Names and families of problems that are held out, "none", or "20%" for a share that the names decide. Empty: all are.
  std::vector<std::string> held_out = {};
};

struct ModuleTasks {
  std::vector<Task> tasks;         // by level, number and name
  std::vector<std::string> notes;  // a line for each problem that was left out, naming its file and why
};

// Whether a path holds such problems, and not task files.
bool holds_modules(const std::filesystem::path& path);

// Errors: ConfigError if no problem can be read, with the notes, or a word of held_out means nothing; WorldError where the
// machine fails.
ModuleTasks load_module_tasks(const std::filesystem::path& path, const ModuleOptions& options = {});

}  // namespace temper::env
