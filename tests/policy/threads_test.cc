#include "policy/threads.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

#include "base/machine/cores.h"

namespace temper::policy {
namespace {

// A launcher that binds a process to some cores leaves the others to its neighbours.
TEST(Threads, AsManyAsCoresAreAllowed) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "the machine has one core";
  const int before = at::get_num_threads();
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(size_t(allowed_cores().back()), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(file_threads(), 1);
    use_threads(0);
    EXPECT_EQ(at::get_num_threads(), 1);
  }).join();
  use_threads(before);
}

}  // namespace
}  // namespace temper::policy
