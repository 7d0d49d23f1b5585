#include "env/box/core_lease.h"

#include <sched.h>

#include "base/error.h"

namespace temper {
void pin_to_core(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (::sched_setaffinity(0, sizeof cores, &cores) != 0)
    throw system_error(fmt::format("stay on core {}", core));
}

CoreLease::CoreLease(int core) : lock_(lease(fmt::format("core-{}", core))) {}

}  // namespace temper
