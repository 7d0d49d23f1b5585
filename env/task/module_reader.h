#pragma once
// Problems in KernelBench's format (env/task/module_problem.h) as tasks. Their Python is read as text and never run here.
//
// A path is one of
//   a checkout of KernelBench, or a folder with folders level1, level2, …   {id}_{name}.py in them
//   any other folder                    its *.py files that define Model, get_inputs or get_init_inputs
//   a file *.py
//   a file of rows, or a folder of such files (base/input/rows/rows.h), one of whose fields holds such a source
//
// A name is made of level, number and name: level1_19_relu. The family is the level, or else the folder or file. Where two
// rows have one name, the later one gets a suffix. Of rows with one source the first is kept.
//
// Where a Python is given, it says of each source whether it parses and what it needs (env/task/problems/module_check.h).

#include <filesystem>
#include <string>
#include <vector>

#include "env/task/task.h"

namespace temper::env {

struct ModuleOptions {
  // Dotted paths in a row; empty: as a known set has them, or the first that holds a problem.
  std::string field = "", name_field = "", level_field = "";
  std::string precision = "fp32";  // fp32, fp16 or bf16
  // Names and families of problems that are held out, "none", or "20%" for a share that the names decide. Empty: all are.
  std::vector<std::string> held_out = {};
  // The members below are set by the program and are not options of tasks.
  std::vector<std::string> pythons = {};  // that are asked about sources and read parquet, in turn
  std::vector<std::string> wheels = {};   // folders of packages that they search before their own
  std::string huggingface = "";           // a cache (env/task/hub_cache.h), or empty
};

struct ModuleTasks {
  std::vector<Task> tasks;         // by level, number and name
  std::vector<std::string> notes;  // sentences: how rows were read, and what was left out and why
};

// Whether a path holds such problems, and not task files.
bool holds_modules(const std::filesystem::path& path);

// Errors: ConfigError if no problem can be read, with the notes, if a word of held_out means nothing, if a named field is in no
// row or if `huggingface` is no cache; WorldError where the machine fails or once interrupted().
ModuleTasks load_module_tasks(const std::filesystem::path& path, const ModuleOptions& options = {});

}  // namespace temper::env
