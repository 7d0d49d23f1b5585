#pragma once
// Ctrl-C where there is nothing to keep: main ends with 130.

#include "base/process.h"

namespace temper {

struct Interrupted {};

inline void throw_if_interrupted() {
  if (interrupted()) throw Interrupted();
}

}  // namespace temper
