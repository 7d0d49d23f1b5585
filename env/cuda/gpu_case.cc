#include "env/cuda/gpu_case.h"

#include <algorithm>

#include "base/error.h"
#include "base/rng.h"

namespace temper {
namespace {

constexpr int64_t kBatchInputs = int64_t(512) << 20, kBatchOutputs = kBatchInputs / 2;  // bytes
constexpr uint64_t kSeal = 0x5EA1;

int64_t aligned(int64_t offset) { return (offset + kGpuBufferAlign - 1) / kGpuBufferAlign * kGpuBufferAlign; }

uint32_t index_bound(const TensorSpec& input, const Shape& shape) {
  const auto it = shape.find(input.index_bound);
  return uint32_t(it != shape.end() ? it->second : std::stoll(input.index_bound));
}

DrawSpec draw_spec(const TensorSpec& input, const Shape& shape, double magnitude) {
  DrawSpec spec;
  spec.elements = tensor_bytes(input, shape) / int64_t(element_size(input.type));
  spec.type = GpuType(input.type);
  spec.scale = float(normal_scale(input, shape, magnitude));
  spec.low = float(input.low);
  spec.width = float(input.high - input.low);
  spec.nonfinite = input.nonfinite;
  if (input.distribution == Distribution::kUniform) spec.distribution = GpuDistribution::kUniform;
  if (input.distribution == Distribution::kDistinct) spec.distribution = GpuDistribution::kDistinct;
  if (input.distribution == Distribution::kIndex) {
    spec.distribution = GpuDistribution::kIndex;
    spec.bound = index_bound(input, shape);
  }
  return spec;
}

}  // namespace

const Shape& shape_of(const Task& task, int32_t shape) {
  return shape < 0 ? task.timed_shape : task.check_shapes.at(size_t(shape));
}

std::vector<DrawSpec> draw_specs(const Task& task, const GpuDraw& draw) {
  std::vector<DrawSpec> specs;
  for (const TensorSpec& input : task.inputs) {
    DrawSpec spec = draw_spec(input, shape_of(task, draw.shape), draw.magnitude);
    spec.key = mix_key({draw.seed, specs.size()});
    if (draw.spike == int32_t(specs.size()))
      spec.spike = int64_t(mix_key({spec.key, 1}) % uint64_t(spec.elements));
    specs.push_back(spec);
  }
  return specs;
}

std::vector<int64_t> buffer_bytes(const std::vector<TensorSpec>& tensors, const Shape& shape) {
  std::vector<int64_t> bytes;
  for (const TensorSpec& tensor : tensors) bytes.push_back(tensor_bytes(tensor, shape));
  return bytes;
}

GpuLayout gpu_layout(const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs,
                     const std::vector<int64_t>& workspaces) {
  GpuLayout layout;
  int64_t end = 0;
  const auto place = [&](const std::vector<int64_t>& sizes, std::vector<GpuBuffer>& buffers) {
    for (const int64_t bytes : sizes) {
      const int64_t begin = aligned(end + kGpuGuardBytes);
      layout.guards.push_back({end, begin - end});
      buffers.push_back({begin, bytes});
      end = begin + bytes;
    }
  };
  place(inputs, layout.inputs);
  place(outputs, layout.outputs);
  place(workspaces, layout.workspaces);
  layout.bytes = aligned(end + kGpuGuardBytes);
  layout.guards.push_back({end, layout.bytes - end});
  return layout;
}

std::vector<int64_t> exchange_offsets(const std::vector<int64_t>& outputs, int64_t& end) {
  std::vector<int64_t> offsets;
  for (const int64_t bytes : outputs) {
    offsets.push_back(end);
    end = aligned(end + bytes);
  }
  return offsets;
}

int64_t exchange_bytes(const std::vector<Task>& tasks) {
  int64_t most = 0;
  for (const Task& task : tasks) {
    for (int32_t shape = -1; shape < int32_t(task.check_shapes.size()); ++shape) {
      int64_t bytes = 0;
      exchange_offsets(buffer_bytes(task.outputs, shape_of(task, shape)), bytes);
      most = std::max(most, bytes);
    }
  }
  return std::max(most, std::min(kMaxBatch * most, kBatchOutputs));
}

size_t batch_of(const Task& task, const std::vector<GpuDraw>& draws) {
  int64_t inputs = 0, outputs = 0;
  for (size_t count = 0; count < draws.size(); ++count) {
    const Shape& shape = shape_of(task, draws[count].shape);
    exchange_offsets(buffer_bytes(task.inputs, shape), inputs);
    exchange_offsets(buffer_bytes(task.outputs, shape), outputs);
    const bool fits = count < size_t(kMaxBatch) && inputs <= kBatchInputs && outputs <= kBatchOutputs;
    if (count > 0 && !fits) return count;
  }
  return draws.size();
}

uint64_t seal_of(const GpuDraw& draw) { return mix_key({draw.seed, kSeal}); }

}  // namespace temper
