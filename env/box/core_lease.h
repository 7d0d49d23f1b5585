#pragma once
// One core, held alone among judges while a candidate runs on it.

#include "base/process.h"

namespace temper {

// Keeps this process and all it starts from now on on `core`. Errors: WorldError.
void pin_to_core(int core);

// Held until destroyed; ends with its process. Errors: WorldError if another judge holds the core for
// minutes.
class CoreLease {
 public:
  explicit CoreLease(int core);

 private:
  Fd lock_;
};

}  // namespace temper
