#pragma once
// A case in the runner's arena: made ready before a call, looked at after it.

#include <cstdint>
#include <string>

#include "env/call/case.h"
#include "env/call/fill.h"

namespace temper::env {

// Where a candidate's buffers lie: case_layout, or the same buffers apart.
struct LaidCase {
  uint8_t* arena;
  const CallLayout& layout;
};

// Copies the inputs from `pristine`, the oracle's arena, whose layout is `packed`. Fills the outputs and all guards
// (env/call/fill.h). What a word is filled with depends on its place: in `packed` for an output, in the runner's arena
// for a guard. Also fills `beyond` bytes after the layout, a multiple of 4, which are not checked later.
void prepare_case(const LaidCase& mine, const uint8_t* pristine, const CallLayout& packed, Fill fill,
                  int64_t beyond = 0);

// Copies the outputs to the oracle's arena. "" or what the call broke: input_mutation, guard.
std::string collect_case(const LaidCase& mine, uint8_t* oracle, const CallLayout& packed, Fill fill);

}  // namespace temper::env
