#pragma once
// Which of the problems that were found can be used, and under which names.

#include <string>
#include <vector>

#include "env/task/module_reader.h"
#include "env/task/problems/found_problem.h"

namespace temper::env {

// Leaves out rows whose source another row has.
void leave_out_copies(FoundProblems& found);

// Leaves out what does not parse, and what needs packages or files of the Hub that are not there. Errors: as
// load_module_tasks.
void leave_out_unusable(FoundProblems& found, const ModuleOptions& options);

}  // namespace temper::env
