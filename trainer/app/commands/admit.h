#pragma once
// temper judge --admit: which tasks may be asked, and why the others may not.

#include <string>
#include <vector>

#include "trainer/app/commands/commands.h"

namespace temper::trainer {

enum class AdmitFormat { kText, kJson, kMarkdown };

// `names` and words.overrides are names of tasks, task files, or options; without names all of tasks.path.
// `mutants`: known short-cuts must fail them, too.
int run_admit(std::vector<std::string> names, ConfigWords words, AdmitFormat format, bool mutants);
// The same tasks as JSON, for programs outside (env/task/task_numbers.h).
int print_tasks(std::vector<std::string> names, ConfigWords words);

}  // namespace temper::trainer
