#pragma once
// A candidate outside of Temper: an ordinary CUDA program that times it at the task's first timed shape, so that a
// verdict's time can be checked with nothing but nvcc.

#include <string>

#include "env/task/task.h"

namespace temper::env {

// The text of the program. Its first line contains the commands that compile and run it. It prints
// "CANDIDATE_US LOW HIGH": the median and the quartiles of many calls, timed by events. Each call has a cold L2
// cache and takes its data from the next of several sets.
std::string standalone_program(const Task& task, const std::string& source);

}  // namespace temper::env
