#include "env/broker/lane_judge.h"

#include <unistd.h>

#include <cstring>

namespace temper::env {

uid_t lane_user() {
  constexpr uid_t kFirst = 100'000;
  return kFirst + uid_t(::getpid());
}

std::string sandbox_level(bool user_dropped) {
  return std::string("S2 (namespaces, private root, rlimits, seccomp") +
         (user_dropped ? ", user dropped)" : ")");
}

GpuTarget target_of(const LaneSetup& setup) {
  GpuTarget target;
  if (setup.gpu_target.size() == sizeof target) std::memcpy(&target, setup.gpu_target.data(), sizeof target);
  return target;
}

}  // namespace temper::env
