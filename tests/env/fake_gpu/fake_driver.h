#pragma once
// The driver library beside the tests comes before the machine's own.

#include <cstdlib>

#include "base/files.h"

namespace temper::env {

inline void use_fake_driver() { ::setenv("LD_LIBRARY_PATH", executable_dir().c_str(), 1); }

}  // namespace temper::env
