#pragma once
// One call of a GPU candidate: how its inputs are drawn and how its buffers lie. Runner and oracle compute
// the same from the same task and seed.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "env/call/case.h"
#include "env/gpu/specs.h"
#include "env/task/task.h"

namespace temper::env {

inline constexpr int64_t kGpuGuardBytes =
    64 << 10;  // on both sides of every buffer: a row written too far is seen
inline constexpr int64_t kGpuBufferAlign = 256;
inline constexpr int kMaxBatch = 16;  // calls, or draws

// One draw of a task's inputs. Both secrets are made after the candidate was compiled: the seed is new for every
// call, the key of turns for every verdict.
struct GpuDraw {
  int32_t shape = -1;  // a number as in shape_of (env/task/task.h)
  int32_t spike = -1;  // the input that has one element changed by much; −1 if there is none
  double magnitude = 1;
  uint64_t seed = 0;
  uint64_t turn_key = 0;
  int32_t turn = -1;  // number of the call under that key (env/call/draw_forms.h); -1: its inputs are plain
  uint32_t call = 0;  // number of the call, for the fill of memory
  // The oracle's choice for the turn: for each input a kind, and how far it departs, as 1 + an index into kFarSteps;
  // 0 means not at all.
  DrawKind kind[kMaxDraws] = {};
  uint8_t far[kMaxDraws] = {};
  Placement placement = Placement::kPacked;  // the runner's own matter
  bool operator==(const GpuDraw&) const = default;
  bool plain() const { return std::ranges::count(kind, DrawKind::kPlain) == kMaxDraws; }
};

// The index of a shape's plan among those of a candidate (env/plan/gpu_candidate.h), by the shape's number.
int32_t plan_number(const Task& task, int32_t shape);

DrawSpec draw_spec(const TensorSpec& input, const Shape& shape, double magnitude, const DrawForm& form,
                   uint64_t key);
std::vector<DrawSpec> draw_specs(const Task& task, const GpuDraw& draw);

CallLayout gpu_layout(const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs,
                      const std::vector<int64_t>& workspaces);

// Windows of mapped memory at equal distances, with none between them, before the first and behind the last. Mapping
// takes longer than a call, so a runner maps them once, and only buffers that fit lie apart.
struct GpuWindowSizes {
  int64_t bytes = 0, stride = 0;  // of one, and from its begin to the next one's
};
inline constexpr int64_t kGpuWindowBytes = int64_t(2) << 20;
bool fits_windows(const Task& task, const Shape& shape);  // all tensors, each with a guard on one side

// Each input and output in a window of its own, from the first one's begin. `bytes` is not set.
CallLayout gpu_layout_apart(const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs,
                            const GpuWindowSizes& windows, Placement placement);
// Adds workspaces whose layout, of them alone, begins `offset` bytes from where `layout` does.
void add_workspaces(CallLayout& layout, const CallLayout& workspaces, int64_t offset);

// The offsets of one call's outputs in the memory that runner and oracle share. They begin at `end`, the end of the
// previous call's outputs, and move it.
std::vector<int64_t> exchange_offsets(const std::vector<int64_t>& outputs, int64_t& end);
int64_t exchange_bytes(const std::vector<Task>& tasks);

// How many of the draws, the first ones, make a batch: as many as runner and oracle hold side by side, at
// least one.
size_t batch_of(const Task& task, const std::vector<GpuDraw>& draws);

// The key under which a call's outputs are sealed. It reveals nothing about the keys of other calls.
uint64_t seal_of(const GpuDraw& draw);

// The contents of memory before a call (fill.h). The key reveals nothing about the inputs.
struct GpuFill {
  uint64_t key = 0;
  uint32_t call = 0;
};
GpuFill fill_of(const GpuDraw& draw);
uint32_t output_fill_key(const GpuFill& fill, size_t output);
FillType guard_type(FillType buffer);  // the fill of a guard beside a buffer of that fill
// The 32-bit words [first, first + count) of a buffer that is filled from its first byte. Two 16-bit floats lie in a
// word.
std::vector<uint32_t> gpu_fill_words(FillType type, uint32_t key, uint32_t call, int64_t first,
                                     int64_t count);
// The fill of elements [first, first + count) of an output as bits; 16-bit floats are in the low half.
std::vector<uint32_t> filled_elements(const GpuFill& fill, size_t output, ElementType type, int64_t first,
                                      int64_t count);

// Which elements nobody has written: those that hold what they were filled with. Zeros, and integers that
// could be anybody's, count beside others that show it.
std::vector<bool> left_alone(ElementType type, const std::vector<uint32_t>& filled,
                             const std::vector<uint32_t>& found);

// The guard zones around a call's buffers, and the buffers that are filled. `base` is the layout's address.
struct GpuBufferTypes {
  std::vector<ElementType> inputs, outputs;
};
Zones guard_zones(const CallLayout& layout, const GpuBufferTypes& types, const GpuFill& fill, uint64_t base);
Zones filled_zones(const CallLayout& layout, const GpuBufferTypes& types, const GpuFill& fill, uint64_t base);

}  // namespace temper::env
