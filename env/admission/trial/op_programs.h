#pragma once
// Short-cuts for single operations, written in TorchScript.

#include <string>
#include <vector>

namespace temper::env {

struct OpProgram {
  std::string name;
  std::string op;      // as the interpreter knows it: aten::sum
  size_t inputs;       // how many arguments that overload takes
  std::string source;  // source of `def changed(…)`, which takes the same arguments as the op
};

// Several may have one name: they are one short-cut for several overloads.
const std::vector<OpProgram>& op_programs();

// … of mean((x - mean(x))^2), with x and the outer mean's other arguments.
extern const char* const kOnePassVariance;

}  // namespace temper::env
