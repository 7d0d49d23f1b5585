#include "env/call/case.h"

#include "base/error.h"

namespace temper::env {
namespace {

constexpr int64_t kPageBytes = 4096;
static_assert(kGapBytes % kPageBytes == 0 && kPageBytes % kBufferAlign == 0);

}  // namespace

CallLayout case_layout(const Task& task, const Shape& shape) {
  CallLayout layout = lay_out_call({.guard_bytes = kGuardBytes, .align = kBufferAlign},
                                   buffer_bytes(task.inputs, shape), buffer_bytes(task.outputs, shape), {});
  for (size_t i = 0; i < task.inputs.size(); ++i) layout.inputs[i].integers = !is_float(task.inputs[i].type);
  for (size_t i = 0; i < task.outputs.size(); ++i)
    layout.outputs[i].integers = !is_float(task.outputs[i].type);
  return layout;
}

CallLayout apart(const CallLayout& packed, Placement placement) {
  CallLayout layout;
  layout.inputs = packed.inputs;
  layout.outputs = packed.outputs;
  const auto add_gap = [&layout] {
    layout.gaps.push_back(layout.bytes);
    layout.bytes += kGapBytes;
  };
  const auto add_guard = [&layout](int64_t begin, int64_t end) {
    if (begin < end) layout.guards.push_back({{begin, end - begin}});
  };
  for (auto* buffers : {&layout.inputs, &layout.outputs})
    for (Buffer& buffer : *buffers) {
      add_gap();
      const int64_t begin = layout.bytes,
                    end = begin + aligned(buffer.bytes + kBufferAlign + kGuardBytes, kPageBytes);
      buffer.offset = placement == Placement::kEndAtGap ? end - aligned(buffer.bytes, kBufferAlign) : begin;
      add_guard(begin, buffer.offset);
      add_guard(buffer.offset + buffer.bytes, end);
      layout.bytes = end;
    }
  add_gap();
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

}  // namespace temper::env
