#include <fmt/format.h>

#include "env/plan/plan.h"

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

// The arguments in their order: pointers by name, what lies between them in hexadecimal words of 4 bytes.
std::string arguments_text(const KernelLaunch& launch) {
  std::string words;
  auto next = launch.relocations.begin();
  for (size_t at = 0; at < launch.arguments.size();) {
    words += words.empty() ? "" : " ";
    if (next != launch.relocations.end() && next->at == at) {
      words += text((next++)->pointer);
      at += 8;
      continue;
    }
    const size_t stop = next != launch.relocations.end() ? next->at : launch.arguments.size();
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
  if (kernel.max_dynamic_shared > 0) line += fmt::format(" max_dynamic_shared {}", kernel.max_dynamic_shared);
  if (kernel.shared_carveout >= 0) line += fmt::format(" carveout {}%", kernel.shared_carveout);
  if (kernel.nonportable_cluster) line += " nonportable_cluster";
  return line + "\n";
}

}  // namespace

std::string plan_text(const LaunchPlan& plan) {
  std::string lines;
  for (const PlanKernel& kernel : plan.kernels) lines += text(kernel);
  for (size_t i = 0; i < plan.workspaces.size(); ++i)
    lines += fmt::format("workspace{} {} bytes\n", i, plan.workspaces[i]);
  for (const Step& step : plan.steps) lines += std::visit(StepText{plan}, step) + "\n";
  return lines;
}

}  // namespace temper::env
