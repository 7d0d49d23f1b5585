#pragma once
// Changes of a reference's operations: another function in the place of each one of a kind.

#include <string>
#include <vector>

#include "env/oracle/reference.h"

namespace temper::env {

struct OpMutant {
  std::string name;
  Reference::Edit edit;
};

// Those that change something in this task's reference. Errors: ConfigError as Reference.
std::vector<OpMutant> op_mutants(const Task& task);

}  // namespace temper::env
