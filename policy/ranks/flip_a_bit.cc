#include "policy/ranks/flip_a_bit.h"

#include <ATen/ATen.h>

namespace temper::policy {

void flip_a_bit(const at::Tensor& values) {
  values.view(at::kByte).narrow(0, int64_t(values.nbytes()) / 2, 1).bitwise_xor_(1);
}

}  // namespace temper::policy
