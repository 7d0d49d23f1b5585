#pragma once
// The cores this process may run on.

#include <vector>

namespace temper {

std::vector<int> allowed_cores();  // numbers, rising. Errors: WorldError

}  // namespace temper
