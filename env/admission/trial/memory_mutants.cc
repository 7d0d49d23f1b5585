#include "env/admission/trial/memory_mutants.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rng.h"
#include "env/call/case.h"
#include "env/gpu/case.h"
#include "env/oracle/tolerance.h"

namespace temper::env {
namespace {

constexpr int64_t kBlock = 32;
constexpr uint64_t kWorkspaceKey = 0x3057, kOutputKey = 0x0117, kGuardKey = 0x6A4D;

at::Tensor of_bits(const std::vector<uint32_t>& words, ElementType type, at::IntArrayRef sizes) {
  const int64_t count = c10::multiply_integers(sizes);
  return at::from_blob(const_cast<uint32_t*>(words.data()), {count}, dtype_of(type)).clone().reshape(sizes);
}

std::vector<uint32_t> gpu_words(FillType type, uint64_t key, Fill fill, int64_t count) {
  return gpu_fill_words(type, uint32_t(mix_key({fill.key, key})), fill.call, 0, count);
}

std::vector<uint32_t> core_words(FillKind kind, Fill fill, int64_t first, int64_t count) {
  std::vector<uint32_t> words(static_cast<size_t>(count));
  fill_words(fill, kind, first, count, words.data());
  return words;
}

int64_t words_of(ElementType type, int64_t elements) {
  return (elements * int64_t(element_size(type)) + 3) / 4;
}

at::Tensor held_output(const Task& task, size_t output, const Shape& shape, Fill fill) {
  const TensorSpec& spec = task.outputs[output];
  const int64_t count = words_of(spec.type, tensor_elements(spec, shape));
  if (task.on_gpu())
    return of_bits(gpu_words(FillType(spec.type), kOutputKey + output, fill, count), spec.type,
                   tensor_sizes(spec, shape));
  const FillKind kind = is_float(spec.type) ? FillKind::kFloats : FillKind::kIntegers;
  const int64_t first = case_layout(task, shape).outputs[output].offset / 4;
  return of_bits(core_words(kind, fill, first, count), spec.type, tensor_sizes(spec, shape));
}

// Anything on a GPU; on a core one of the large numbers that its runner has malloc fill memory with.
at::Tensor held_workspace(const Task& task, const TensorSpec& like, const Shape& shape, Fill fill) {
  const ElementType type = is_float(like.type) ? ElementType::kF32 : ElementType::kI32;
  const int64_t count = tensor_elements(like, shape);
  if (task.on_gpu())
    return of_bits(gpu_words(FillType::kF32, kWorkspaceKey, fill, count), type, tensor_sizes(like, shape));
  return of_bits(std::vector<uint32_t>(size_t(count), 0x4B4B4B4B), type, tensor_sizes(like, shape));
}

// The element right behind an input, or right in front of it: a tensor of one.
at::Tensor neighbour(const Task& task, size_t input, const Shape& shape, Fill fill, bool behind) {
  const TensorSpec& spec = task.inputs[input];
  if (task.on_gpu())
    return of_bits(gpu_words(guard_type(FillType(spec.type)), kGuardKey + 2 * input + behind, fill, 1),
                   spec.type, {1});
  const Buffer buffer = case_layout(task, shape).inputs[input];
  const int64_t at = behind ? buffer.offset + buffer.bytes : buffer.offset - 4;
  return of_bits(core_words(FillKind::kGuard, fill, at / 4, 1), spec.type, {1});
}

// Another value for the first or the last element.
at::Tensor with_end(const at::Tensor& input, bool last,
                    const std::function<at::Tensor(const at::Tensor&)>& change) {
  at::Tensor flat = input.flatten().clone();
  const at::Tensor end = flat.narrow(0, last ? flat.numel() - 1 : 0, 1);
  end.copy_(change(end));
  return flat.reshape_as(input);
}

at::Tensor larger_of(const at::Tensor& a, const at::Tensor& b) {
  return a.is_floating_point() ? at::fmax(a, b) : at::maximum(a, b);
}

at::Tensor sum_of(const at::Tensor& a, const at::Tensor& b) { return a + b; }
at::Tensor without_zeros(const at::Tensor& right, const at::Tensor& held) {
  return at::where(right.eq(0), held, right);
}

// At least one element is left out: what has no tail would have none to forget.
at::Tensor without_last_block(const at::Tensor& right, const at::Tensor& held) {
  at::Tensor flat = right.flatten().clone();
  const int64_t left = (flat.numel() - 1) % kBlock + 1, begin = flat.numel() - left;
  flat.narrow(0, begin, left).copy_(held.flatten().narrow(0, begin, left));
  return flat.reshape_as(right);
}

at::Tensor as(const at::Tensor& held, const at::Tensor& right) {
  return held.to(right.device(), right.scalar_type());
}

}  // namespace

std::vector<MemoryMutant> output_mutants(const Task& task, size_t output) {
  const std::string& name = task.outputs[output].name;
  const auto with_held = [&task, output](at::Tensor (*spoil)(const at::Tensor&, const at::Tensor&)) {
    return [&task, output, spoil](const at::Tensor& right, const Shape& shape, Fill fill) {
      return spoil(right, as(held_output(task, output, shape, fill), right));
    };
  };
  const auto onto_workspace = [&task, output](const at::Tensor& right, const Shape& shape, Fill fill) {
    return right + as(held_workspace(task, task.outputs[output], shape, fill), right);
  };
  return {{fmt::format("added onto what {} holds", name), with_held(sum_of)},
          {fmt::format("no less than what {} holds", name), with_held(larger_of)},
          {fmt::format("zeros of {} left out", name), with_held(without_zeros)},
          {fmt::format("{} without its last block", name), with_held(without_last_block)},
          {fmt::format("{} added onto a workspace", name), onto_workspace}};
}

std::vector<NeighbourMutant> neighbour_mutants(const Task& task, size_t input) {
  const std::string& name = task.inputs[input].name;
  if (!is_float(task.inputs[input].type)) return {};
  const auto mixing = [&task, input](bool behind, at::Tensor (*mix)(const at::Tensor&, const at::Tensor&)) {
    return [&task, input, behind, mix](const at::Tensor& values, const Shape& shape, Fill fill) {
      const at::Tensor beside = as(neighbour(task, input, shape, fill, behind), values);
      return with_end(values, behind, [&](const at::Tensor& end) { return mix(end, beside); });
    };
  };
  return {{fmt::format("one behind {} added", name), mixing(true, sum_of)},
          {fmt::format("one in front of {} added", name), mixing(false, sum_of)},
          {fmt::format("the larger of {}'s last and one behind", name), mixing(true, larger_of)}};
}

}  // namespace temper::env
