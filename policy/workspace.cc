#include "policy/workspace.h"

#include <ATen/ATen.h>

namespace temper {

std::byte* Workspace::reserve(int64_t bytes) {
  if (bytes > bytes_) {
    memory_ = at::Tensor();
    memory_ = at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(device_));
    bytes_ = bytes;
  }
  return reinterpret_cast<std::byte*>(memory_.data_ptr());
}

}  // namespace temper
