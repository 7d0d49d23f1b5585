#pragma once
#include <cstdint>

namespace temper {

// Threads that the policy computes with; 0: one per core.
void use_threads(int64_t threads);

}  // namespace temper
