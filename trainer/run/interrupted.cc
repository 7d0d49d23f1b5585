#include "trainer/run/interrupted.h"

#include "policy/ranks/communicator.h"

namespace temper {

bool any_interrupted(Communicator& ranks) {
  if (!ranks.any(interrupted(), "interrupts")) return false;
  interrupt();
  return true;
}

}  // namespace temper
