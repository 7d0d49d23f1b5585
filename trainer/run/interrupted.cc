#include "trainer/run/interrupted.h"

#include "policy/ranks/communicator.h"

namespace temper::trainer {

bool any_interrupted(policy::Communicator& ranks) {
  if (!ranks.any(interrupted(), "interrupts")) return false;
  interrupt();
  return true;
}

}  // namespace temper::trainer
