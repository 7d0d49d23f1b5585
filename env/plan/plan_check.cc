#include "env/plan/plan_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace temper::env {
namespace {

// Of each CUtensorMapDataType.
constexpr uint32_t kElementBytes[kMaxTensorElementType + 1] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
constexpr uint8_t kFirstFloat = 6;
constexpr uint32_t kTensorUnit = 16;  // of addresses, strides and the inner edge of a box

bool printable_word(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

bool printable_line(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7F; });
}

// Source: CUDA driver API, cuTensorMapEncodeTiled.
std::string problem_of_map(const TensorMap& map) {
  const size_t rank = map.sizes.size();
  if (rank == 0) return "a tensor map of no dimension";
  if (map.strides.size() + 1 != rank || map.box.size() != rank)
    return "a tensor map whose sizes, strides and box do not fit together";
  // A GPU wants 64 bytes, but counts from where it keeps all parameters, which is a multiple of 16. The cubin's table says
  // which places are right.
  if (map.at % kTensorUnit != 0) return "a tensor map that is not aligned to 16 bytes";
  if (map.pointer.offset % kTensorUnit != 0) return "a tensor map of an address that is no multiple of 16";
  for (const int64_t stride : map.strides)
    if (stride % kTensorUnit != 0) return "a tensor map with a stride that is no multiple of 16 bytes";
  const uint32_t inner = map.box[0] * kElementBytes[map.element_type];
  if (inner % kTensorUnit != 0)
    return fmt::format("a tensor map with a box of {} bytes in a row, which is no multiple of 16", inner);
  if (map.swizzle > 0 && inner > 16u << map.swizzle)
    return fmt::format("a tensor map with a box of {} bytes in a row; at most {} for its swizzle", inner,
                       16u << map.swizzle);
  if (map.fill != 0 && map.element_type < kFirstFloat) return "a tensor map that fills integers with NaN";
  return "";
}

struct TakenBytes {
  uint32_t at, bytes;
};

// Merged, both lists rise if neither overlaps.
std::string problem_of_places(const KernelLaunch& launch) {
  std::vector<TakenBytes> pointers, maps, all;
  for (const Relocation& relocation : launch.relocations) pointers.push_back({relocation.at, 8});
  for (const TensorMap& map : launch.tensor_maps) maps.push_back({map.at, kTensorMapBytes});
  std::ranges::merge(pointers, maps, std::back_inserter(all), {}, &TakenBytes::at, &TakenBytes::at);
  uint32_t end = 0;
  for (const TakenBytes& place : all) {
    if (place.at < end) return "relocations or tensor maps overlap";
    end = place.at + place.bytes;
    if (end > launch.arguments.size()) return "a relocation or a tensor map outside the arguments";
  }
  return "";
}

std::string problem(const KernelLaunch& launch, const LaunchPlan& plan) {
  if (launch.kernel >= plan.kernels.size()) return fmt::format("there is no kernel {}", launch.kernel);
  if (launch.block.count() > 1024) return fmt::format("a block of {} threads", launch.block.count());
  if (launch.cluster.count() > 16) return fmt::format("a cluster of {} blocks", launch.cluster.count());
  if (launch.grid.x % launch.cluster.x || launch.grid.y % launch.cluster.y ||
      launch.grid.z % launch.cluster.z)
    return "a grid that is no multiple of its cluster";
  for (const TensorMap& map : launch.tensor_maps)
    if (const std::string found = problem_of_map(map); !found.empty()) return found;
  return problem_of_places(launch);
}

std::string problem(const Memset& set, const LaunchPlan&) {
  if (set.width == 3) return "a memset of width 3";
  if (set.width < 4 && set.value >> (8 * set.width) != 0)
    return "a memset's value is wider than its elements";
  if (set.to.offset % set.width != 0) return "a memset that is not aligned to its elements";
  return "";
}

std::string problem(const Copy&, const LaunchPlan&) { return ""; }

std::string problem_of_choice(const Choice& choice, size_t& most_steps) {
  if (choice.alternatives.empty()) return "a choice without alternatives";
  size_t most = 0;
  std::set<uint32_t> seen;
  for (const Alternative& alternative : choice.alternatives) {
    if (!seen.insert(alternative.configuration).second)
      return fmt::format("configuration {} twice in a choice", alternative.configuration);
    if (!printable_line(alternative.text)) return "an alternative's text is not printable";
    most = std::max(most, alternative.steps.size());
  }
  most_steps += most;
  return "";
}

// Whatever is chosen, the plan that results is one, too.
std::string problem_of_choices(const LaunchPlan& plan) {
  uint32_t at = 0;
  size_t most_steps = plan.steps.size();
  for (const Choice& choice : plan.choices) {
    if (choice.at < at || choice.at > plan.steps.size()) return "a choice that is out of place";
    at = choice.at;
    if (const std::string found = problem_of_choice(choice, most_steps); !found.empty()) return found;
  }
  if (most_steps > kMaxPlanSteps)
    return fmt::format("{} steps with all choices made; at most {}", most_steps, kMaxPlanSteps);
  return "";
}

class BufferCheck {
 public:
  BufferCheck(const LaunchPlan& plan, const PlanBuffers& buffers) : plan_(plan), buffers_(buffers) {}

  std::string operator()(const KernelLaunch& launch) const {
    for (const Relocation& relocation : launch.relocations)
      if (const std::string found = inside(relocation.pointer, 0); !found.empty()) return found;
    for (const TensorMap& map : launch.tensor_maps)
      if (const std::string found = whole_inside(map); !found.empty()) return found;
    return "";
  }
  std::string operator()(const Memset& set) const { return written(set.to, set.bytes()); }
  std::string operator()(const Copy& copy) const {
    const std::string found = written(copy.to, copy.bytes);
    if (!found.empty()) return found;
    const bool one_buffer = copy.to.space == copy.from.space && copy.to.index == copy.from.index;
    if (one_buffer && std::abs(copy.to.offset - copy.from.offset) < copy.bytes) return "a copy onto itself";
    return inside(copy.from, copy.bytes);
  }

 private:
  const std::vector<int64_t>& of(Space space) const {
    return space == Space::kInput    ? buffers_.inputs
           : space == Space::kOutput ? buffers_.outputs
                                     : plan_.workspaces;
  }
  std::string inside(const DevicePointer& pointer, int64_t bytes) const {
    const auto& sizes = of(pointer.space);
    if (pointer.index >= sizes.size()) return fmt::format("there is no buffer {}", pointer.index);
    if (pointer.offset > sizes[pointer.index] || bytes > sizes[pointer.index] - pointer.offset)
      return fmt::format("{} bytes at {} of a buffer of {}", bytes, pointer.offset, sizes[pointer.index]);
    return "";
  }
  // Sizes and strides multiply to more than 64 bits hold; what is more than any buffer needs no exact number.
  std::string whole_inside(const TensorMap& map) const {
    int64_t bytes = map.sizes[0] * int64_t(kElementBytes[map.element_type]);
    for (size_t i = 1; i < map.sizes.size(); ++i) {
      const int64_t steps = map.sizes[i] - 1, stride = map.strides[i - 1];
      if (stride > 0 && steps > 2 * kMaxWorkspaceBytes / stride)
        return fmt::format("a tensor map of {} times {} bytes", steps, stride);
      bytes += steps * stride;
    }
    return inside(map.pointer, bytes);
  }
  std::string written(const DevicePointer& pointer, int64_t bytes) const {
    return pointer.space == Space::kInput ? "an input is written" : inside(pointer, bytes);
  }
  const LaunchPlan& plan_;
  const PlanBuffers& buffers_;
};

}  // namespace

std::string first_problem(const LaunchPlan& plan) {
  for (const PlanKernel& kernel : plan.kernels)
    if (!printable_word(kernel.name)) return "a kernel's name is empty or not printable";
  if (plan.workspace_bytes() > kMaxWorkspaceBytes) return "the workspaces are too large";
  for (const Step* step : all_steps(plan)) {
    const std::string found = std::visit([&](const auto& one) { return problem(one, plan); }, *step);
    if (!found.empty()) return found;
  }
  return problem_of_choices(plan);
}

std::string check_plan(const LaunchPlan& plan, const PlanBuffers& buffers) {
  for (const Step* step : all_steps(plan)) {
    const std::string found = std::visit(BufferCheck(plan, buffers), *step);
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace temper::env
