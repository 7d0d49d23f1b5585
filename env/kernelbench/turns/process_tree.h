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
  // Stops them and waits until all of their threads are seen stopped in one look, those included that were started meanwhile: one that still
  // ran may have set others going. Whose parent has ended is the init's child. What is not stopped after `patience` is killed. A
  // process that has ended is as good as stopped.
  void stop(std::chrono::nanoseconds patience);
  // Sets going what stop() has stopped.
  void resume();

 private:
  struct Stopped {
    pid_t pid;
    Fd pidfd;  // so that no other process of that number is meant
  };
  void stop_one(pid_t pid, std::chrono::nanoseconds until);

  pid_t init_;
  std::vector<Stopped> stopped_;
};

}  // namespace temper::env
