#pragma once
// Gradients that several ranks add up, and the weights that follow from them.

#include <c10/core/Device.h>

#include "policy/ranks/communicator.h"

namespace temper::policy {

// Throws where the ranks do not get, to the bit, what one rank gets from the sum of their gradients, which is exact.
void check_shares(Communicator& ranks, at::Device device);

}  // namespace temper::policy
