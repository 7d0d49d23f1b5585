#include "policy/parameters/workspace.h"

#include <ATen/ATen.h>

#include "policy/parameters/flat.h"

namespace temper::policy {

std::byte* Workspace::reserve(int64_t bytes) {
  if (bytes > bytes_) {
    memory_ = at::Tensor();
    give_back_unused(device_);
    memory_ = at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(device_));
    bytes_ = bytes;
  }
  return reinterpret_cast<std::byte*>(memory_.data_ptr());
}

}  // namespace temper::policy
