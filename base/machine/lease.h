#pragma once
// A part of the machine that one process at a time has to itself.

#include <string>

#include "base/process.h"

namespace temper {

// "core-3" or a GPU's UUID, held alone among the processes of this user that ask, until the descriptor is
// closed or its process ends. Errors: WorldError if another one holds it for minutes.
Fd lease(const std::string& part);

}  // namespace temper
