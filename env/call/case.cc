#include "env/call/case.h"

#include "base/error.h"

namespace temper {
namespace {

int64_t aligned(int64_t offset) { return (offset + kBufferAlign - 1) / kBufferAlign * kBufferAlign; }

std::vector<Buffer> place(const std::vector<TensorSpec>& tensors, const Shape& shape, int64_t& end) {
  std::vector<Buffer> buffers;
  for (const auto& tensor : tensors) {
    buffers.push_back({aligned(end + kGuardBytes), tensor_bytes(tensor, shape), !is_float(tensor.type)});
    end = buffers.back().offset + buffers.back().bytes;
  }
  return buffers;
}

}  // namespace

CaseLayout case_layout(const Task& task, const Shape& shape) {
  CaseLayout layout;
  int64_t end = 0;
  layout.inputs = place(task.inputs, shape, end);
  layout.outputs = place(task.outputs, shape, end);
  layout.bytes = aligned(end + kGuardBytes);
  return layout;
}

std::vector<int64_t> dim_arguments(const Task& task, const Shape& shape) {
  std::vector<int64_t> sizes;
  for (const auto& dim : task.dims) {
    const auto it = shape.find(dim);
    TEMPER_CHECK(it != shape.end(), "task {}, dimension {}", task.name, dim);
    sizes.push_back(it->second);
  }
  return sizes;
}

}  // namespace temper
