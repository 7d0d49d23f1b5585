#include "env/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "env/plan/plan_check.h"

namespace temper::env {
namespace {

constexpr uint32_t kMagic = 0x4C504D54;  // "TMPL"
constexpr uint32_t kVersion = 2;

class Writer {
 public:
  template <class Integer>
  void number(const Integer& value, int64_t, int64_t, const char*) {
    const auto wide = int64_t(value);
    bytes.append(reinterpret_cast<const char*>(&wide), sizeof(Integer));
  }
  template <class Container>
  bool length(const Container& container, size_t, const char*) {
    number(uint32_t(container.size()), 0, 0, "");
    return true;
  }
  template <class Bytes>
  void raw(const Bytes& content) {
    bytes.append(reinterpret_cast<const char*>(content.data()), content.size());
  }
  template <class Integer>
  static Integer tag(Integer value) {
    return value;
  }
  bool failed() const { return false; }

  std::string bytes;
};

// The first thing that is wrong stays; what is read after it is not looked at.
class PlanReader {
 public:
  explicit PlanReader(std::string_view bytes) : bytes_(bytes) {}

  template <class Integer>
  void number(Integer& value, int64_t low, int64_t high, const char* name) {
    int64_t wide = 0;
    if (failed() || !take(sizeof(Integer), name)) return;
    std::memcpy(&wide, taken_.data(), sizeof(Integer));
    if constexpr (std::is_signed_v<Integer> && sizeof(Integer) < sizeof wide) {
      constexpr int kShift = 64 - 8 * sizeof(Integer);
      wide = int64_t(uint64_t(wide) << kShift) >> kShift;
    }
    if (wide < low || wide > high)
      error_ = fmt::format("{} is {}; allowed: {} to {}", name, wide, low, high);
    else
      value = Integer(wide);
  }
  // Each element takes at least a byte, so that a short text cannot ask for much memory.
  template <class Container>
  bool length(Container& container, size_t most, const char* name) {
    uint32_t size = 0;
    number(size, 0, int64_t(most), name);
    if (!failed() && size > bytes_.size()) error_ = fmt::format("the plan ends inside {}", name);
    if (!failed()) container.resize(size);
    return !failed();
  }
  template <class Bytes>
  void raw(Bytes& content) {
    if (!failed() && take(content.size(), "bytes")) std::copy(taken_.begin(), taken_.end(), content.begin());
  }
  template <class Integer>
  Integer tag(Integer) {
    Integer value = 0;
    number(value, 0, 2, "the kind of a step");
    return value;
  }
  bool failed() const { return !error_.empty(); }
  void fail(std::string error) {
    if (!failed()) error_ = std::move(error);
  }
  const std::string& error() const { return error_; }
  size_t left() const { return bytes_.size(); }

 private:
  bool take(size_t count, const char* name) {
    if (count > bytes_.size()) {
      error_ = fmt::format("the plan ends inside {}", name);
      return false;
    }
    taken_ = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return true;
  }
  std::string_view bytes_, taken_;
  std::string error_;
};

// Each structure once, for both directions.

template <class Archive>
void boolean(Archive& archive, auto& value, const char* name) {
  uint8_t byte = value;
  archive.number(byte, 0, 1, name);
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(value)>>) value = byte != 0;
}

template <class Archive>
void fields(Archive& archive, auto& pointer)
  requires requires { pointer.space; }
{
  auto space = uint8_t(pointer.space);
  archive.number(space, 0, 2, "the space of a pointer");
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(pointer)>>) pointer.space = Space(space);
  archive.number(pointer.index, 0, 255, "the index of a pointer");
  archive.number(pointer.offset, 0, kMaxWorkspaceBytes, "the offset of a pointer");
}

template <class Archive>
void extent(Archive& archive, auto& value, int64_t x, int64_t y, int64_t z, const char* name) {
  archive.number(value.x, 1, x, name);
  archive.number(value.y, 1, y, name);
  archive.number(value.z, 1, z, name);
}

template <class Archive>
void fields(Archive& archive, auto& map)
  requires requires { map.swizzle; }
{
  archive.number(map.at, 0, kMaxArgumentBytes, "the place of a tensor map");
  fields(archive, map.pointer);
  archive.number(map.element_type, 0, kMaxTensorElementType, "the element type of a tensor map");
  archive.number(map.swizzle, 0, 3, "the swizzle of a tensor map");
  archive.number(map.fill, 0, 1, "the fill of a tensor map");
  if (!archive.length(map.sizes, kMaxTensorRank, "a tensor map's sizes")) return;
  for (auto& size : map.sizes) archive.number(size, 1, int64_t(1) << 32, "a size of a tensor map");
  if (!archive.length(map.strides, kMaxTensorRank, "a tensor map's strides")) return;
  for (auto& stride : map.strides)
    archive.number(stride, 0, (int64_t(1) << 40) - 1, "a stride of a tensor map");
  if (!archive.length(map.box, kMaxTensorRank, "a tensor map's box")) return;
  for (auto& edge : map.box) archive.number(edge, 1, 256, "an edge of a tensor map's box");
}

template <class Archive>
void fields(Archive& archive, auto& launch)
  requires requires { launch.grid; }
{
  archive.number(launch.kernel, 0, kMaxPlanKernels - 1, "the kernel of a launch");
  extent(archive, launch.grid, 0x7FFFFFFF, 65535, 65535, "a grid's extent");
  extent(archive, launch.block, 1024, 1024, 64, "a block's extent");
  extent(archive, launch.cluster, 16, 16, 16, "a cluster's extent");
  archive.number(launch.shared_bytes, 0, 1 << 20, "dynamic shared memory");
  boolean(archive, launch.cooperative, "cooperative");
  boolean(archive, launch.programmatic, "programmatic");
  if (archive.length(launch.arguments, kMaxArgumentBytes, "arguments")) archive.raw(launch.arguments);
  if (!archive.length(launch.relocations, kMaxRelocations, "relocations")) return;
  for (auto& relocation : launch.relocations) {
    archive.number(relocation.at, 0, kMaxArgumentBytes, "the place of a relocation");
    fields(archive, relocation.pointer);
  }
  if (!archive.length(launch.tensor_maps, kMaxTensorMaps, "tensor maps")) return;
  for (auto& map : launch.tensor_maps) fields(archive, map);
}

template <class Archive>
void fields(Archive& archive, auto& set)
  requires requires { set.width; }
{
  fields(archive, set.to);
  archive.number(set.value, 0, 0xFFFFFFFF, "the value of a memset");
  archive.number(set.width, 1, 4, "the width of a memset");
  archive.number(set.count, 1, kMaxWorkspaceBytes, "the count of a memset");
}

template <class Archive>
void fields(Archive& archive, auto& copy)
  requires requires { copy.from; }
{
  fields(archive, copy.to);
  fields(archive, copy.from);
  archive.number(copy.bytes, 1, kMaxWorkspaceBytes, "the bytes of a copy");
}

template <class Archive>
void fields(Archive& archive, auto& kernel)
  requires requires { kernel.shared_carveout; }
{
  if (archive.length(kernel.name, kMaxKernelNameBytes, "a kernel's name")) archive.raw(kernel.name);
  archive.number(kernel.max_dynamic_shared, 0, 1 << 20, "the most dynamic shared memory");
  archive.number(kernel.shared_carveout, -1, 100, "the shared memory carve-out");
  boolean(archive, kernel.nonportable_cluster, "nonportable_cluster");
  archive.number(kernel.cubin, 0, kMaxPlanCubins - 1, "the cubin of a kernel");
}

template <class Archive, class AnyStep>
void step_fields(Archive& archive, AnyStep& step) {
  const auto kind = archive.tag(uint8_t(step.index()));
  if constexpr (!std::is_const_v<AnyStep>) {
    if (archive.failed()) return;
    if (kind == 0) step.template emplace<KernelLaunch>();
    if (kind == 1) step.template emplace<Memset>();
    if (kind == 2) step.template emplace<Copy>();
  } else {
    archive.number(kind, 0, 2, "");
  }
  std::visit([&](auto& one) { fields(archive, one); }, step);
}

template <class Archive>
void steps_fields(Archive& archive, auto& steps) {
  if (!archive.length(steps, kMaxPlanSteps, "steps")) return;
  for (auto& step : steps) step_fields(archive, step);
}

template <class Archive>
void fields(Archive& archive, auto& choice)
  requires requires { choice.alternatives; }
{
  archive.number(choice.at, 0, kMaxPlanSteps, "the place of a choice");
  archive.number(choice.slot, 0, kMaxSlots - 1, "the slot of a choice");
  if (!archive.length(choice.alternatives, kMaxAlternatives, "alternatives")) return;
  for (auto& alternative : choice.alternatives) {
    archive.number(alternative.configuration, 0, kMaxConfigurations - 1,
                   "the configuration of an alternative");
    if (archive.length(alternative.text, kMaxAlternativeText, "an alternative's text"))
      archive.raw(alternative.text);
    steps_fields(archive, alternative.steps);
  }
}

template <class Archive>
void plan_fields(Archive& archive, auto& plan) {
  uint32_t magic = kMagic, version = kVersion;
  archive.number(magic, kMagic, kMagic, "the magic number");
  archive.number(version, kVersion, kVersion, "the version");
  if (!archive.length(plan.kernels, kMaxPlanKernels, "kernels")) return;
  for (auto& kernel : plan.kernels) fields(archive, kernel);
  if (!archive.length(plan.workspaces, kMaxPlanWorkspaces, "workspaces")) return;
  for (auto& bytes : plan.workspaces) archive.number(bytes, 1, kMaxWorkspaceBytes, "a workspace's bytes");
  steps_fields(archive, plan.steps);
  if (!archive.length(plan.choices, kMaxChoices, "choices")) return;
  for (auto& choice : plan.choices) fields(archive, choice);
}

}  // namespace

int64_t LaunchPlan::workspace_bytes() const {
  int64_t sum = 0;  // at most kMaxPlanWorkspaces × kMaxWorkspaceBytes
  for (const int64_t bytes : workspaces) sum += bytes;
  return sum;
}

std::string serialize(const LaunchPlan& plan) {
  Writer writer;
  plan_fields(writer, plan);
  return std::move(writer.bytes);
}

std::string parse_plan(std::string_view bytes, LaunchPlan& plan) {
  plan = {};
  if (bytes.size() > kMaxPlanBytes)
    return fmt::format("the plan has {} bytes; at most {}", bytes.size(), kMaxPlanBytes);
  PlanReader reader(bytes);
  plan_fields(reader, plan);
  if (reader.left() > 0) reader.fail("bytes after the plan");
  if (!reader.failed()) reader.fail(first_problem(plan));
  if (reader.failed()) plan = {};
  return reader.error();
}

std::vector<const Step*> all_steps(const LaunchPlan& plan) {
  std::vector<const Step*> all;
  const auto add = [&all](const std::vector<Step>& steps) {
    for (const Step& step : steps) all.push_back(&step);
  };
  add(plan.steps);
  for (const Choice& choice : plan.choices)
    for (const Alternative& alternative : choice.alternatives) add(alternative.steps);
  return all;
}

}  // namespace temper::env
