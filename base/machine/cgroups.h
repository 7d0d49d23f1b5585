#pragma once
// What the control groups around this process leave it. A container, a job of SLURM's or a unit of systemd's is such a group.

#include <cstdint>
#include <optional>
#include <string>

namespace temper {

struct CgroupRoom {
  std::optional<int64_t>
      memory_bytes;  // until the limit that is reached first; what can be taken from the page cache is free
  std::optional<double> cores;  // of processor time a second
};

// Of versions 1 and 2, at every level from the process's group up to the root that it sees. The texts are those of
// /proc/PID/cgroup and /proc/PID/mountinfo. What cannot be read limits nothing.
// Source: Linux, Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst; cgroups(7).
CgroupRoom cgroup_room(const std::string& cgroup, const std::string& mountinfo);
CgroupRoom cgroup_room();  // of this process

}  // namespace temper
