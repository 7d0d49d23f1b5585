#include "env/call/layout.h"

namespace temper::env {

int64_t aligned(int64_t offset, int64_t align) { return (offset + align - 1) / align * align; }

CallLayout lay_out_call(const LayoutRules& rules, const std::vector<int64_t>& inputs,
                        const std::vector<int64_t>& outputs, const std::vector<int64_t>& workspaces) {
  CallLayout layout;
  int64_t end = 0;
  const auto add_guard = [&](int64_t until) {
    const size_t placed = layout.guards.size();
    layout.guards.push_back({{end, until - end}, placed > 0 ? placed - 1 : 0, placed});
  };
  const auto place = [&](const std::vector<int64_t>& sizes, std::vector<Buffer>& buffers) {
    for (const int64_t bytes : sizes) {
      const int64_t begin = aligned(end + rules.guard_bytes, rules.align);
      add_guard(begin);
      buffers.push_back({begin, bytes});
      end = begin + bytes;
    }
  };
  place(inputs, layout.inputs);
  place(outputs, layout.outputs);
  place(workspaces, layout.workspaces);
  layout.bytes = aligned(end + rules.guard_bytes, rules.align);
  add_guard(layout.bytes);
  return layout;
}

std::vector<int64_t> buffer_bytes(const std::vector<TensorSpec>& tensors, const Shape& shape) {
  std::vector<int64_t> bytes;
  for (const TensorSpec& tensor : tensors) bytes.push_back(tensor_bytes(tensor, shape));
  return bytes;
}

}  // namespace temper::env
