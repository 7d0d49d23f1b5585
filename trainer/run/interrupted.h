#pragma once
// Ctrl-C where the command cannot finish: it ends with 130.

#include "base/process.h"

namespace temper {

struct Interrupted {
  const char* kept = "nothing was kept";  // for the user
};

inline void throw_if_interrupted() {
  if (interrupted()) throw Interrupted();
}

}  // namespace temper
