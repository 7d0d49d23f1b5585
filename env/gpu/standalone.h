#pragma once
// A candidate outside of Temper: an ordinary CUDA program that times it at the task's timed shape, so that a
// verdict's time can be checked with nothing but nvcc.

#include <string>

#include "env/task/task.h"

namespace temper {

// The program's text; its first line says how it is compiled and run. It prints "CANDIDATE_US LOW HIGH": the
// median and the quartiles of many calls between events, each with a cold L2 cache and on its own data of
// several sets.
std::string standalone_program(const Task& task, const std::string& source);

}  // namespace temper
