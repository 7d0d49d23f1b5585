#pragma once
// Processes that keep a core busy, and what shares that core with them.

#include <gtest/gtest.h>
#include <sched.h>

#include <vector>

#include "env/box/core_lease.h"
#include "env/box/namespaces.h"

namespace temper::env {

// Of those on which this process may run.
inline int last_core() {
  cpu_set_t cores;
  ::sched_getaffinity(0, sizeof cores, &cores);
  for (int core = CPU_SETSIZE; core-- > 0;)
    if (CPU_ISSET(core, &cores)) return core;
  return 0;
}

// From now on the process runs on that core alone.
inline void move_to_core(pid_t process, int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  ASSERT_EQ(::sched_setaffinity(process, sizeof cores, &cores), 0);
}

// Two, until they are destroyed.
inline std::vector<BoxProcess> busy_neighbours(int core) {
  std::vector<BoxProcess> neighbours;
  for (int i = 0; i < 2; ++i)
    neighbours.push_back(BoxProcess::start([core]() -> int {
      pin_to_core(core);
      for (volatile unsigned count = 0;;) count = count + 1;
    }));
  return neighbours;
}

}  // namespace temper::env
