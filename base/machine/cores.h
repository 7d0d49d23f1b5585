#pragma once
// The cores this process may run on: fewer than the machine has where a launcher, a container or taskset binds it.

#include <cstdint>
#include <vector>

namespace temper {

std::vector<int> allowed_cores();  // numbers, rising. Errors: WorldError
int64_t allowed_core_count();      // Errors: WorldError

}  // namespace temper
