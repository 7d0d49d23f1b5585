#include "env/gpu/case.h"

#include <algorithm>

#include "base/error.h"
#include "base/rng.h"
#include "env/call/draw_forms.h"
#include "env/gpu/fill.h"
#include "env/plan/plan.h"

namespace temper::env {
namespace {

constexpr int64_t kBatchInputs = int64_t(512) << 20, kBatchOutputs = kBatchInputs / 2;  // bytes
constexpr uint64_t kSeal = 0x5EA1, kFill = 0xF111;
constexpr size_t kGuardKeys = 1000, kWorkspaceKeys = 2000;  // behind the outputs' own

// Apart, each tensor may have two guards; workspaces have one more than there are.
static_assert(2 * kMaxDraws + kMaxPlanWorkspaces + 1 <= kMaxZones);

double far_of(uint8_t step) { return step == 0 ? 0 : kFarSteps[(step - 1) % std::size(kFarSteps)]; }

uint32_t zone_key(const GpuFill& fill, size_t zone) { return uint32_t(mix_key({fill.key, zone})); }

// The fill types of all buffers, in order.
std::vector<FillType> fill_types(const CallLayout& layout, const GpuBufferTypes& types) {
  std::vector<FillType> all;
  for (const auto* some : {&types.inputs, &types.outputs})
    for (const ElementType type : *some) all.push_back(FillType(type));
  all.resize(all.size() + layout.workspaces.size(), FillType::kF32);
  return all;
}

void add_zone(Zones& zones, uint64_t begin, int64_t bytes, uint32_t key, FillType front, FillType back) {
  const uint32_t i = zones.count++;
  zones.begin[i] = begin;
  zones.end[i] = begin + uint64_t(bytes);
  zones.key[i] = key;
  zones.front[i] = front;
  zones.back[i] = back;
}

}  // namespace

int32_t plan_number(const Task& task, int32_t shape) {
  return shape < 0 ? int32_t(task.check_shapes.size() + timed_index(shape)) : shape;
}

DrawSpec draw_spec(const TensorSpec& input, const Shape& shape, double magnitude, const DrawForm& form,
                   uint64_t key) {
  return {.key = key,
          .elements = tensor_elements(input, shape),
          .type = input.type,
          .distribution = input.distribution,
          .scale = float(normal_scale(input, shape, magnitude)),
          .nonfinite = input.nonfinite,
          .form = form};
}

std::vector<DrawSpec> draw_specs(const Task& task, const GpuDraw& draw) {
  std::vector<DrawSpec> specs;
  const Shape& shape = shape_of(task, draw.shape);
  const double terms = longest_sum(task, shape);
  for (const TensorSpec& input : task.inputs) {
    const size_t i = specs.size();
    const uint64_t key = mix_key({draw.seed, i});
    DrawSpec spec = draw_spec(
        input, shape, draw.magnitude,
        draw_form(input, shape, draw.magnitude, draw.kind[i], far_of(draw.far[i]), key, terms), key);
    if (draw.spike == int32_t(i)) spec.spike = int64_t(mix_key({key, 1}) % uint64_t(spec.elements));
    specs.push_back(spec);
  }
  return specs;
}

CallLayout gpu_layout(const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs,
                      const std::vector<int64_t>& workspaces) {
  return lay_out_call({.guard_bytes = kGpuGuardBytes, .align = kGpuBufferAlign}, inputs, outputs, workspaces);
}

bool fits_windows(const Task& task, const Shape& shape) {
  for (const auto* tensors : {&task.inputs, &task.outputs})
    for (const TensorSpec& tensor : *tensors)
      if (aligned(tensor_bytes(tensor, shape), kGpuBufferAlign) + kGpuGuardBytes > kGpuWindowBytes)
        return false;
  return true;
}

CallLayout gpu_layout_apart(const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs,
                            const GpuWindowSizes& windows, Placement placement) {
  CallLayout layout;
  size_t placed = 0;
  const auto add_guard = [&](int64_t begin, int64_t end) {
    if (begin < end) layout.guards.push_back({{begin, end - begin}, placed, placed});
  };
  const auto place = [&](const std::vector<int64_t>& sizes, std::vector<Buffer>& buffers) {
    for (const int64_t bytes : sizes) {
      const int64_t first = int64_t(placed) * windows.stride, last = first + windows.bytes;
      const int64_t begin =
                        placement == Placement::kEndAtGap ? last - aligned(bytes, kGpuBufferAlign) : first,
                    end = begin + bytes;
      buffers.push_back({begin, bytes});
      add_guard(std::max(first, begin - kGpuGuardBytes), begin);
      add_guard(end, std::min(last, end + kGpuGuardBytes));
      ++placed;
    }
  };
  place(inputs, layout.inputs);
  place(outputs, layout.outputs);
  return layout;
}

void add_workspaces(CallLayout& layout, const CallLayout& workspaces, int64_t offset) {
  const size_t before = layout.inputs.size() + layout.outputs.size();
  for (const Buffer& own : workspaces.workspaces)
    layout.workspaces.push_back({own.offset + offset, own.bytes});
  for (const Guard& guard : workspaces.guards)
    layout.guards.push_back(
        {{guard.offset + offset, guard.bytes}, guard.before + before, guard.behind + before});
}

std::vector<int64_t> exchange_offsets(const std::vector<int64_t>& outputs, int64_t& end) {
  std::vector<int64_t> offsets;
  for (const int64_t bytes : outputs) {
    offsets.push_back(end);
    end = aligned(end + bytes, kGpuBufferAlign);
  }
  return offsets;
}

int64_t exchange_bytes(const std::vector<Task>& tasks) {
  int64_t most = 0;
  for (const Task& task : tasks) {
    for (int32_t shape = first_shape(task); shape < int32_t(task.check_shapes.size()); ++shape) {
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

GpuFill fill_of(const GpuDraw& draw) { return {mix_key({draw.turn_key, kFill}), draw.call}; }

FillType guard_type(FillType buffer) {
  if (buffer == FillType::kBF16) return FillType::kGuardBF16;
  return buffer == FillType::kF16 ? FillType::kGuardF16 : FillType::kGuardF32;
}

uint32_t output_fill_key(const GpuFill& fill, size_t output) { return zone_key(fill, output); }

std::vector<uint32_t> gpu_fill_words(FillType type, uint32_t key, uint32_t call, int64_t first,
                                     int64_t count) {
  std::vector<uint32_t> words;
  words.reserve(size_t(count));
  FilledGroup group{};
  for (int64_t i = first; i < first + count; ++i) {
    if (i == first || i % 4 == 0) group = filled_group(type, key, call, uint64_t(i / 4));
    words.push_back(group.word[i % 4]);
  }
  return words;
}

std::vector<uint32_t> filled_elements(const GpuFill& fill, size_t output, ElementType type, int64_t first,
                                      int64_t count) {
  const bool narrow = type == ElementType::kBF16 || type == ElementType::kF16;
  const int64_t in_word = narrow ? 2 : 1, first_word = first / in_word,
                words_end = (first + count + in_word - 1) / in_word;
  const std::vector<uint32_t> words = gpu_fill_words(FillType(type), output_fill_key(fill, output), fill.call,
                                                     first_word, words_end - first_word);
  if (!narrow) return words;
  std::vector<uint32_t> elements;
  elements.reserve(size_t(count));
  for (int64_t i = first; i < first + count; ++i) {
    const uint32_t word = words[size_t(i / 2 - first_word)];
    elements.push_back(i % 2 == 0 ? word & 0xFFFF : word >> 16);
  }
  return elements;
}

std::vector<bool> left_alone(ElementType type, const std::vector<uint32_t>& filled,
                             const std::vector<uint32_t>& found) {
  constexpr size_t kNear = 16;
  const auto shows = [type](uint32_t bits) {
    return type == ElementType::kI32 ? bits >> 30 == 1 : bits != 0;
  };
  std::vector<bool> alone(filled.size(), false);
  size_t next = 0, shown = filled.size();  // the last one that shows it, up to kNear behind i
  for (size_t i = 0; i < filled.size(); ++i) {
    for (; next < filled.size() && next <= i + kNear; ++next)
      if (filled[next] == found[next] && shows(filled[next])) shown = next;
    const bool near = shown < filled.size() && shown + kNear >= i;
    alone[i] = filled[i] == found[i] && near;
  }
  return alone;
}

Zones guard_zones(const CallLayout& layout, const GpuBufferTypes& types, const GpuFill& fill, uint64_t base) {
  const std::vector<FillType> all = fill_types(layout, types);
  const auto like = [&all](size_t buffer) {
    return guard_type(all.empty() ? FillType::kF32 : all[std::min(buffer, all.size() - 1)]);
  };
  Zones zones;
  zones.call = fill.call;
  for (size_t i = 0; i < layout.guards.size(); ++i) {
    const Guard& guard = layout.guards[i];
    add_zone(zones, base + uint64_t(guard.offset), guard.bytes, zone_key(fill, kGuardKeys + i),
             like(guard.before), like(guard.behind));
  }
  return zones;
}

Zones filled_zones(const CallLayout& layout, const GpuBufferTypes& types, const GpuFill& fill,
                   uint64_t base) {
  Zones zones;
  zones.call = fill.call;
  const auto add = [&](const Buffer& buffer, uint32_t key, FillType type) {
    add_zone(zones, base + uint64_t(buffer.offset), buffer.bytes, key, type, type);
  };
  for (size_t i = 0; i < layout.outputs.size(); ++i)
    add(layout.outputs[i], output_fill_key(fill, i), FillType(types.outputs[i]));
  for (size_t i = 0; i < layout.workspaces.size(); ++i)
    add(layout.workspaces[i], zone_key(fill, kWorkspaceKeys + i), FillType::kF32);
  return zones;
}

}  // namespace temper::env
