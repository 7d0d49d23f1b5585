#include "env/broker/lane_judge.h"

#include <unistd.h>

namespace temper::env {

uid_t lane_user() {
  constexpr uid_t kFirst = 100'000;
  return kFirst + uid_t(::getpid());
}

std::string sandbox_level(bool user_dropped) {
  return std::string("S2 (namespaces, private root, rlimits, seccomp") +
         (user_dropped ? ", user dropped)" : ")");
}

}  // namespace temper::env
