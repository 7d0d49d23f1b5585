#pragma once
// Whether the draws of a task refuse a known short-cut (mutants.h), and which draw does.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace temper::env {

struct MutantFate {
  std::string mutant;
  std::string kind;  // what it has changed: operations, inputs, memory
  // The index of the draw that refused it, or −1 if it survived.
  int64_t check_draw = -1, timed_draw = -1;
  bool timed_tried = false;
  // Whether it was right to the bit on all those draws. It may have nothing to spoil there, such as no zeros to leave out;
  // that counts as refused if the other shapes refuse it.
  bool check_idle = false, timed_idle = false;
  bool lives() const {
    const bool refused = check_draw >= 0 || timed_draw >= 0;
    return !refused || (check_draw < 0 && !check_idle) || (timed_tried && timed_draw < 0 && !timed_idle);
  }
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MutantFate, mutant, kind, check_draw, timed_draw, timed_tried, check_idle,
                                   timed_idle)

}  // namespace temper::env
