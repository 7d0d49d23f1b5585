#pragma once
// A case in the runner's arena: made ready before a call, looked at after it.

#include <cstdint>
#include <string>

#include "env/case.h"

namespace temper {

// Inputs copied from `pristine` (the oracle's arena), outputs poisoned, everything between the buffers filled
// as guard.
void prepare_case(uint8_t* arena, const uint8_t* pristine, const CaseLayout& layout);

// Copies the outputs to the oracle's arena. "" or what the call broke: input_mutation, guard.
std::string collect_case(const uint8_t* arena, uint8_t* oracle, const CaseLayout& layout);

}  // namespace temper
