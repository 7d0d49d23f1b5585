#pragma once
// One core, or a GPU, held alone among judges while a candidate runs on it.

#include <string>

#include "base/process.h"

namespace temper {

// Keeps this process and all it starts from now on on `core`. Errors: WorldError.
void pin_to_core(int core);

// A part of the machine ("core-3", "gpu-…") held alone among the judges of this user, until the descriptor is
// closed or its process ends. Errors: WorldError if another judge holds it for minutes.
Fd lease(const std::string& part);

// Held until destroyed.
class CoreLease {
 public:
  explicit CoreLease(int core);

 private:
  Fd lock_;
};

}  // namespace temper
