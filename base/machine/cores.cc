#include "base/machine/cores.h"

#include <sched.h>

#include <algorithm>

#include "base/error.h"
#include "base/machine/cgroups.h"

namespace temper {

std::vector<int> allowed_cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) throw system_error("read the allowed cores");
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

int64_t allowed_core_count() {
  const auto bound = int64_t(allowed_cores().size());
  const std::optional<double> granted = cgroup_room().cores;
  return granted ? std::clamp<int64_t>(int64_t(*granted), 1, bound) : bound;
}

}  // namespace temper
