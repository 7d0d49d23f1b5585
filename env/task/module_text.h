#pragma once
// What can be seen of a problem in PyTorch without running it.

#include <set>
#include <string>
#include <string_view>

namespace temper::env {

// The names that a Python source defines at its left margin, by class, def or assignment.
std::set<std::string> top_level_names(std::string_view source);

// What keeps a source from being a problem: "no class Model", "it holds a NUL"; "" if nothing does.
std::string module_problem_lacks(std::string_view source);

// "19_ReLU" → "19_relu": a part of a task's name; "" if nothing of it can be.
std::string task_name_part(std::string_view text);

}  // namespace temper::env
