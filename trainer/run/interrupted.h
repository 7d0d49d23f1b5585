#pragma once
// Ctrl-C where the command cannot finish: it ends with 130.

#include "base/process.h"

namespace temper::policy {
class Communicator;
}  // namespace temper::policy

namespace temper::trainer {

struct Interrupted {
  const char* kept = "nothing was kept";  // for the user
};

inline void throw_if_interrupted() {
  if (interrupted()) throw Interrupted();
}

// True on all ranks if one of them was interrupted; from then on interrupted() is true everywhere.
bool any_interrupted(policy::Communicator& ranks);

}  // namespace temper::trainer
