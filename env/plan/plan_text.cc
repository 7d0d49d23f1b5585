#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <map>

#include "env/plan/plan_check.h"

namespace temper::env {
namespace {

std::string text(const DevicePointer& pointer) {
  constexpr const char* kSpaces[] = {"input", "output", "workspace"};
  const std::string offset = pointer.offset > 0 ? fmt::format("+{}", pointer.offset) : "";
  return fmt::format("{}{}{}", kSpaces[int(pointer.space)], pointer.index, offset);
}

std::string text(const Extent& extent) {
  if (extent.z > 1) return fmt::format("{}x{}x{}", extent.x, extent.y, extent.z);
  return extent.y > 1 ? fmt::format("{}x{}", extent.x, extent.y) : fmt::format("{}", extent.x);
}

std::string text(const TensorMap& map) {
  constexpr const char* kTypes[] = {"u8",  "u16", "u32",  "i32",     "u64",  "i64",     "f16",
                                    "f32", "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz"};
  static_assert(std::size(kTypes) == kMaxTensorElementType + 1);
  return fmt::format("map({} {} [{}] strides [{}] box [{}]{}{})", text(map.pointer), kTypes[map.element_type],
                     fmt::join(map.sizes, ", "), fmt::join(map.strides, ", "), fmt::join(map.box, ", "),
                     map.swizzle > 0 ? fmt::format(" swizzle {}", 16 << map.swizzle) : "",
                     map.fill > 0 ? " fill nan" : "");
}

// What is filled in when the plan runs, by the place of its bytes.
struct FilledIn {
  size_t bytes;
  std::string words;
};
std::map<size_t, FilledIn> filled_in(const KernelLaunch& launch) {
  std::map<size_t, FilledIn> all;
  for (const Relocation& relocation : launch.relocations) all[relocation.at] = {8, text(relocation.pointer)};
  for (const TensorMap& map : launch.tensor_maps) all[map.at] = {kTensorMapBytes, text(map)};
  return all;
}

// The arguments in their order: pointers and tensor maps by name, what lies between them in hexadecimal words of 4
// bytes.
std::string arguments_text(const KernelLaunch& launch) {
  std::string words;
  const auto filled = filled_in(launch);
  auto next = filled.begin();
  for (size_t at = 0; at < launch.arguments.size();) {
    words += words.empty() ? "" : " ";
    if (next != filled.end() && next->first == at) {
      words += next->second.words;
      at += (next++)->second.bytes;
      continue;
    }
    const size_t stop = next != filled.end() ? next->first : launch.arguments.size();
    const size_t end = std::min(at + 4, stop);
    for (size_t byte = end; byte-- > at;) words += fmt::format("{:02x}", launch.arguments[byte]);
    at = end;
  }
  return words;
}

struct StepText {
  const LaunchPlan& plan;

  std::string operator()(const KernelLaunch& launch) const {
    std::string line = fmt::format("{} grid {} block {}", plan.kernels[launch.kernel].name, text(launch.grid),
                                   text(launch.block));
    if (launch.cluster.count() > 1) line += " cluster " + text(launch.cluster);
    if (launch.shared_bytes > 0) line += fmt::format(" shared {}", launch.shared_bytes);
    if (launch.cooperative) line += " cooperative";
    if (launch.programmatic) line += " programmatic";
    return fmt::format("{} ({})", line, arguments_text(launch));
  }
  std::string operator()(const Memset& set) const {
    return fmt::format("memset {} to 0x{:x}, {} x {} bytes", text(set.to), set.value, set.count, set.width);
  }
  std::string operator()(const Copy& copy) const {
    return fmt::format("copy {} to {}, {} bytes", text(copy.from), text(copy.to), copy.bytes);
  }
};

std::string text(const PlanKernel& kernel) {
  std::string line = "kernel " + kernel.name;
  if (kernel.cubin > 0) line += fmt::format(" cubin {}", kernel.cubin);
  if (kernel.max_dynamic_shared > 0) line += fmt::format(" max_dynamic_shared {}", kernel.max_dynamic_shared);
  if (kernel.shared_carveout >= 0) line += fmt::format(" carveout {}%", kernel.shared_carveout);
  if (kernel.nonportable_cluster) line += " nonportable_cluster";
  return line + "\n";
}

std::string text(const Choice& choice, const LaunchPlan& plan) {
  std::string lines;
  for (const Alternative& alternative : choice.alternatives) {
    lines += fmt::format("slot {} configuration {}: {}\n", choice.slot, alternative.configuration,
                         alternative.text);
    for (const Step& step : alternative.steps) lines += "  " + std::visit(StepText{plan}, step) + "\n";
  }
  return lines;
}

}  // namespace

std::string plan_text(const LaunchPlan& plan) {
  std::string lines;
  for (const PlanKernel& kernel : plan.kernels) lines += text(kernel);
  for (size_t i = 0; i < plan.workspaces.size(); ++i)
    lines += fmt::format("workspace{} {} bytes\n", i, plan.workspaces[i]);
  auto choice = plan.choices.begin();
  for (size_t at = 0; at <= plan.steps.size(); ++at) {
    for (; choice != plan.choices.end() && choice->at == at; ++choice) lines += text(*choice, plan);
    if (at < plan.steps.size()) lines += std::visit(StepText{plan}, plan.steps[at]) + "\n";
  }
  return lines;
}

}  // namespace temper::env
