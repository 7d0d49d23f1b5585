#pragma once
// Arithmetic over dimension names: "4*n*m", "2*(n+1)*k/3", "1/sqrt(k)".

#include <string>

#include "env/task/task.h"

namespace temper::env {

// Numbers, dimensions, + - * / sqrt and parentheses. Errors: ConfigError saying what was expected where.
double evaluate_size(const std::string& expression, const Shape& shape);

}  // namespace temper::env
