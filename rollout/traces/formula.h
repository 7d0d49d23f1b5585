#pragma once
// Functions of one value that varied references are made of.

#include <string>

#include "base/rng.h"
#include "rollout/traces/reference.h"

namespace temper::traces {

struct Repertoire {
  bool on_gpu = false;  // smooth functions, formulas and numbers, too
  bool powers = false;  // whether powers may occur, too, which leave the range of f16
};

ExpressionPtr function_of(const ExpressionPtr& value, Repertoire repertoire, Rng& rng);

// Up to 2, of one to ten digits.
std::string some_number(Rng& rng);

}  // namespace temper::traces
