#pragma once
// One call of a GPU candidate: how its inputs are drawn and how its buffers lie. Runner and oracle compute
// the same from the same task and seed.

#include <cstdint>
#include <vector>

#include "env/cuda/gpu_specs.h"
#include "env/task.h"

namespace temper {

inline constexpr int64_t kGpuGuardBytes =
    64 << 10;  // on both sides of every buffer: a row written too far is seen
inline constexpr int64_t kGpuBufferAlign = 256;
inline constexpr int kMaxBatch = 16;  // calls, or draws

// One draw of a task's inputs. The seed is made after the candidate was compiled, and anew for every call.
struct GpuDraw {
  int32_t shape = -1;  // check shape, or -1: the timed one
  int32_t spike = -1;  // this input has one element changed by much; -1: none
  double magnitude = 1;
  uint64_t seed = 0;
  bool operator==(const GpuDraw&) const = default;
};

const Shape& shape_of(const Task& task, int32_t shape);
std::vector<DrawSpec> draw_specs(const Task& task, const GpuDraw& draw);
std::vector<int64_t> buffer_bytes(const std::vector<TensorSpec>& tensors, const Shape& shape);

struct GpuBuffer {
  int64_t offset = 0, bytes = 0;
};

// Inputs, outputs, workspaces, with guard zones before, between and after them.
struct GpuLayout {
  std::vector<GpuBuffer> inputs, outputs, workspaces;
  std::vector<GpuBuffer> guards;
  int64_t bytes = 0;
};
GpuLayout gpu_layout(const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs,
                     const std::vector<int64_t>& workspaces);

// Where the outputs lie in the memory that runner and oracle share: those of a call behind the `end` of the
// call before.
std::vector<int64_t> exchange_offsets(const std::vector<int64_t>& outputs, int64_t& end);
int64_t exchange_bytes(const std::vector<Task>& tasks);

// How many of the draws, the first ones, make a batch: as many as runner and oracle hold side by side, at
// least one.
size_t batch_of(const Task& task, const std::vector<GpuDraw>& draws);

// The key under which a call's outputs are sealed. It tells nothing of another call's.
uint64_t seal_of(const GpuDraw& draw);

}  // namespace temper
