#pragma once
// Tasks on their way between our own processes: everything of a Task, as JSON text.

#include <string>
#include <vector>

#include "env/task/task.h"

namespace temper::env {

std::string tasks_to_json(const std::vector<Task>& tasks);
std::vector<Task> tasks_from_json(const std::string& text);

}  // namespace temper::env
