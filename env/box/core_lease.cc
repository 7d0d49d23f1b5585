#include "env/box/core_lease.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/error.h"

namespace temper::env {
namespace {

// The kernel's struct sched_attr, in its first size. Its header does not go with the C library's.
struct Attributes {
  uint32_t size = sizeof(Attributes), policy = SCHED_OTHER;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t turn_ns = 0, deadline_ns = 0, period_ns = 0;
};
static_assert(sizeof(Attributes) == 48);

std::string lease_name(int core) { return fmt::format("core-{}", core); }

}  // namespace

void pin_to_core(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (::sched_setaffinity(0, sizeof cores, &cores) != 0)
    throw system_error(fmt::format("stay on core {}", core));
}

void take_short_turns() {
  Attributes attributes;
  attributes.nice = ::getpriority(PRIO_PROCESS, 0);
  attributes.turn_ns = 100'000;  // the shortest there is
  ::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void check_core_locks(int core) { const LeaseWait opened(lease_name(core)); }

CoreLease::CoreLease(int core) : lock_(lease(lease_name(core))) {}

}  // namespace temper::env
