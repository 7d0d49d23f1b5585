#pragma once
// A process that is the init of a pid namespace, with all that it has started.

#include <sys/types.h>

#include <chrono>
#include <vector>

#include "base/process.h"

namespace temper::env {

class ProcessTree {
 public:
  explicit ProcessTree(pid_t init);
  // Stops them and waits until each of their threads is seen stopped, those included that were started meanwhile. Whose parent has
  // ended is the init's child. False where that takes longer than `patience`. A process that has ended is as good as stopped.
  bool stop(std::chrono::nanoseconds patience);
  // Sets going what stop() has stopped.
  void resume();

 private:
  struct Stopped {
    pid_t pid;
    Fd pidfd;  // so that no other process of that number is meant
  };
  bool stop_one(pid_t pid, std::chrono::nanoseconds until);

  pid_t init_;
  std::vector<Stopped> stopped_;
};

}  // namespace temper::env
