#pragma once
// Problems in PyTorch as they were found, before they have names; for env/task/module_*.cc only.

#include <cstdint>
#include <string>
#include <vector>

#include "env/task/problems/left_out.h"

namespace temper::env {

struct FoundProblem {
  int64_t level = 0, id = 0;
  std::string name;    // "19_ReLU", any text
  std::string family;  // "level1"
  std::string source;
  std::string origin;     // for messages: a file, or a row's place
  bool of_row = false;    // not of a file of its own
  int64_t row = 0;        // among all rows that were read
  std::string task = "";  // the task's name, once it has one
};

struct FoundProblems {
  std::vector<FoundProblem> problems;
  std::vector<std::string> notes;  // whole sentences
  LeftOut left_out;                // rows
  int64_t rows = 0;                // read, with those that are left out
};

}  // namespace temper::env
