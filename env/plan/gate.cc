#include "env/plan/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "env/plan/launch_rules.h"

namespace temper::env {
namespace {

Finding refused(std::string reason, std::string detail) {
  return {VerdictKind::kRejectPolicy, std::move(reason), std::move(detail)};
}

Finding undefined_function(const std::string& name) {
  if (name == "vprintf")
    return refused("device_printf", "printf in a kernel; remove it, nobody reads what it prints");
  if (name == "__assertfail") return refused("device_assert", "assert in a kernel; remove it");
  if (name == "malloc" || name == "free")
    return refused("device_malloc",
                   "malloc, new or free in a kernel; use shared memory, or cudaMallocAsync in launch");
  return refused("undefined_symbol", fmt::format("kernels call {}, which is not defined", name));
}

bool in_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

// How often each variable is named. Once is its declaration.
std::map<std::string_view, int> mentions(const Cubin& cubin, std::string_view ptx) {
  std::map<std::string_view, int> counts;
  for (const CubinGlobal& global : cubin.globals) counts[global.name] = 0;
  for (size_t at = 0; at < ptx.size() && !counts.empty();) {
    size_t end = at;
    while (end < ptx.size() && in_identifier(ptx[end])) ++end;
    const auto it = end > at ? counts.find(ptx.substr(at, end - at)) : counts.end();
    if (it != counts.end()) ++it->second;
    at = std::max(end, at + 1);
  }
  return counts;
}

Found gate_globals(const Cubin& cubin, std::string_view ptx) {
  if (cubin.global_bytes > kMaxGlobalBytes)
    return refused(
        "global_quota",
        fmt::format("{} bytes of __device__ variables; use cudaMallocAsync in launch", cubin.global_bytes));
  const auto counts = mentions(cubin, ptx);
  for (const CubinGlobal& global : cubin.globals)
    if (counts.at(global.name) != 1 && !global.table)
      return refused(
          "mutable_global",
          fmt::format("the __device__ or static variable {} outlives a call; make it a table with an "
                      "initialiser that is not all zero, __constant__ or constexpr, or use a workspace from "
                      "cudaMallocAsync in launch",
                      global.name));
  return std::nullopt;
}

const CubinKernel* find_kernel(const PlanKernel& kernel, std::span<const Cubin> cubins) {
  return kernel.cubin < cubins.size() ? cubins[kernel.cubin].find(kernel.name) : nullptr;
}

class PlanCheck {
 public:
  PlanCheck(const LaunchPlan& plan, std::span<const Cubin> cubins, const GpuTarget& target)
      : plan_(plan), cubins_(cubins), target_(target) {}

  std::string operator()(const KernelLaunch& launch) const {
    const PlanKernel& settings = plan_.kernels[launch.kernel];
    const CubinKernel& kernel = *find_kernel(settings, cubins_);
    if (launch.arguments.size() != kernel.parameter_bytes())
      return fmt::format("{} bytes of arguments for {}, which takes {}", launch.arguments.size(),
                         settings.name, kernel.parameter_bytes());
    for (const TensorMap& map : launch.tensor_maps)
      if (!takes_map(kernel, map.at))
        return fmt::format("a tensor map at {} of the arguments of {}, which takes none there", map.at,
                           settings.name);
    return check_launch(kernel, settings, launch, target_).words;
  }
  std::string operator()(const Memset&) const { return ""; }
  std::string operator()(const Copy&) const { return ""; }

 private:
  static bool takes_map(const CubinKernel& kernel, uint32_t at) {
    return std::ranges::any_of(kernel.parameters, [at](const CubinParameter& parameter) {
      return parameter.offset == at && parameter.bytes == kTensorMapBytes;
    });
  }
  const LaunchPlan& plan_;
  std::span<const Cubin> cubins_;
  const GpuTarget& target_;
};

}  // namespace

std::vector<CubinGlobal> tables_of(const Cubin& cubin, std::string_view ptx) {
  const auto counts = mentions(cubin, ptx);
  std::vector<CubinGlobal> tables;
  for (const CubinGlobal& global : cubin.globals)
    if (global.table && counts.at(global.name) != 1) tables.push_back(global);
  return tables;
}

Found gate_cubin(const Cubin& cubin, std::string_view ptx) {
  if (!cubin.undefined.empty()) return undefined_function(cubin.undefined.front());
  if (auto found = gate_globals(cubin, ptx)) return found;
  for (const CubinKernel& kernel : cubin.kernels)
    if (kernel.stack_bytes > kMaxStackBytes)
      return refused("stack_quota", fmt::format("{} takes {} bytes of local memory per thread; at most {}",
                                                kernel.name, kernel.stack_bytes, kMaxStackBytes));
  return std::nullopt;
}

std::string check_plan_kernels(const LaunchPlan& plan, std::span<const Cubin> cubins,
                               const GpuTarget& target) {
  for (const PlanKernel& kernel : plan.kernels) {
    if (find_kernel(kernel, cubins) != nullptr) continue;
    const bool one = cubins.size() == 1 && kernel.cubin == 0;
    return fmt::format("{} has no kernel {}", one ? "the cubin" : fmt::format("cubin {}", kernel.cubin),
                       kernel.name);
  }
  for (const Step* step : all_steps(plan)) {
    const std::string found = std::visit(PlanCheck(plan, cubins, target), *step);
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace temper::env
