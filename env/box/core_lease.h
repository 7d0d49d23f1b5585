#pragma once
// One core, held alone among judges while a candidate runs on it.

#include <string>

#include "base/machine/lease.h"

namespace temper {

// Keeps this process and all it starts from now on on `core`. Errors: WorldError.
void pin_to_core(int core);

// Held until destroyed.
class CoreLease {
 public:
  explicit CoreLease(int core);

 private:
  Fd lock_;
};

}  // namespace temper
