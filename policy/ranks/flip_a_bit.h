#pragma once
// The damage to tensors that tests ask for by TEMPER_FAULT (policy/ranks/activity.h).

#include <ATen/core/Tensor.h>

namespace temper::policy {

// Flips the lowest bit of the byte in the middle.
void flip_a_bit(const at::Tensor& values);

}  // namespace temper::policy
