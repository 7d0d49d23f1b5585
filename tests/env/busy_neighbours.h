#pragma once
// Processes that keep a core busy, what shares that core with them, and how to see that they do.

#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "env/box/core_lease.h"
#include "env/box/namespaces.h"
#include "env/box/sched_stat.h"
#include "tests/patience.h"

namespace temper::env {

// Of those on which this process may run.
inline int last_core() {
  cpu_set_t cores;
  ::sched_getaffinity(0, sizeof cores, &cores);
  for (int core = CPU_SETSIZE; core-- > 0;)
    if (CPU_ISSET(core, &cores)) return core;
  return 0;
}

// This process runs on one core alone, until the object is destroyed.
class OnCore {
 public:
  explicit OnCore(int core) {
    ::sched_getaffinity(0, sizeof before_, &before_);
    pin_to_core(core);
  }
  ~OnCore() { ::sched_setaffinity(0, sizeof before_, &before_); }
  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;

 private:
  cpu_set_t before_;
};

// From now on the process runs on that core alone.
inline void move_to_core(pid_t process, int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  ASSERT_EQ(::sched_setaffinity(process, sizeof cores, &cores), 0);
}

// What the kernel has counted of a process's first thread; it must be there.
inline ThreadTimes times_of(const BoxProcess& process) {
  const auto times = SchedStat(process.pid()).read();
  EXPECT_TRUE(times);
  return times.value_or(ThreadTimes{});
}

// Until the process has run for so long from now on. False: it does not get to it.
inline bool has_run(const BoxProcess& process, std::chrono::nanoseconds time) {
  const auto until = times_of(process).ran + time;
  return comes_true([&] { return times_of(process).ran >= until; });
}

// Whether the process waits for something other than a core.
inline bool is_asleep(const BoxProcess& process) {
  std::ifstream file("/proc/" + std::to_string(process.pid()) + "/stat");
  std::stringstream text;
  text << file.rdbuf();
  const size_t name_ends = text.str().rfind(") ");
  return name_ends != std::string::npos && text.str()[name_ends + 2] == 'S';
}

// Some that run on that core, until they are destroyed.
inline std::vector<BoxProcess> busy_neighbours(int core, int count = 2) {
  std::vector<BoxProcess> neighbours;
  for (int i = 0; i < count; ++i)
    neighbours.push_back(BoxProcess::start([core]() -> int {
      pin_to_core(core);
      for (volatile unsigned turns = 0;;) turns = turns + 1;
    }));
  for (const BoxProcess& one : neighbours) EXPECT_TRUE(has_run(one, std::chrono::milliseconds(1)));
  return neighbours;
}

}  // namespace temper::env
