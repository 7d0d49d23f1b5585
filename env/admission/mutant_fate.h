#pragma once
// What became of a known short-cut (mutants.h) on the draws of a task.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace temper {

struct MutantFate {
  std::string mutant;
  // The draw that refused it, from 0; -1 where it lives.
  int64_t check_draw = -1, timed_draw = -1;
  bool timed_tried = false;
  bool lives() const { return check_draw < 0 || (timed_tried && timed_draw < 0); }
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MutantFate, mutant, check_draw, timed_draw, timed_tried)

}  // namespace temper
