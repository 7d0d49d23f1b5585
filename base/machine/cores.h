#pragma once
// The cores this process may run on: fewer than the machine has where a launcher, a container or taskset binds it, or where
// a control group gives it less time.

#include <cstdint>
#include <vector>

namespace temper {

std::vector<int> allowed_cores();  // numbers, rising. Errors: WorldError
int64_t allowed_core_count();  // whole ones at least 1, of whose time a group grants all. Errors: WorldError

}  // namespace temper
