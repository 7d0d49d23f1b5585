#pragma once
// One core, held alone among judges while a candidate runs on it.

#include <string>

#include "base/machine/lease.h"

namespace temper::env {

// Keeps this process and all it starts from now on on `core`. Errors: WorldError.
void pin_to_core(int core);

// This process, and all it starts from now on, runs in short turns, and so waits less for one where every
// core is busy: Linux 6.12 and later; before that nothing changes.
void take_short_turns();

// Errors: WorldError naming the folder where the locks of cores cannot lie.
void check_core_locks(int core);

// Held until destroyed.
class CoreLease {
 public:
  explicit CoreLease(int core);

 private:
  Fd lock_;
};

}  // namespace temper::env
