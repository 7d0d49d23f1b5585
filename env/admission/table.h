#pragma once
// Tasks and what admission found as a table in Markdown.

#include <string>
#include <vector>

#include "env/admission/admission.h"

namespace temper::env {

// The cells about a GPU task that need no trial: "| name | split | tensors | timed sizes | floor |".
std::string task_cells(const Task& task, double floor_us);

// One section a family, in order of appearance; a row a task. Rows belong to the tasks, in order.
std::string markdown_table(const std::vector<Task>& tasks, const std::vector<Admission>& rows);

}  // namespace temper::env
