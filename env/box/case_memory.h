#pragma once
// A case in the runner's arena: made ready before a call, looked at after it.

#include <cstdint>
#include <string>

#include "env/call/case.h"
#include "env/call/fill.h"

namespace temper {

// Copies the inputs from `pristine` (the oracle's arena) and fills the outputs and everything between the buffers
// (env/call/fill.h) by their words' places in the arena. It also fills `beyond` bytes after the layout, a multiple of 4,
// which are not checked later.
void prepare_case(uint8_t* arena, const uint8_t* pristine, const CallLayout& layout, Fill fill,
                  int64_t beyond = 0);

// Copies the outputs to the oracle's arena. "" or what the call broke: input_mutation, guard.
std::string collect_case(const uint8_t* arena, uint8_t* oracle, const CallLayout& layout, Fill fill);

}  // namespace temper
