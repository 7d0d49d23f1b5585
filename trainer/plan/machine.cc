#include "trainer/plan/machine.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/machine/cgroups.h"
#include "base/machine/cores.h"
#include "policy/cuda/device.h"
#include "policy/cuda/plan.h"
#include "trainer/config/device.h"

namespace temper::trainer {
namespace {

constexpr int64_t kMostGpus = 1024;
constexpr int64_t kCoresPerGpu = 16;

struct GpuPeak {
  const char* name;
  double tflops;
};

// Source: NVIDIA's data sheets of A100 (2021), H100 (2023), H200 (2024) and GH200 (2024). Where a sheet gives
// the figure with sparsity, half of it stands here.
constexpr GpuPeak kPeaks[] = {{"NVIDIA A100-SXM4-40GB", 312},  {"NVIDIA A100-SXM4-80GB", 312},
                              {"NVIDIA A100-PCIE-40GB", 312},  {"NVIDIA A100 80GB PCIe", 312},
                              {"NVIDIA H100 80GB HBM3", 989},  {"NVIDIA H100 PCIe", 756},
                              {"NVIDIA H100 NVL", 835},        {"NVIDIA H200", 989},
                              {"NVIDIA H200 NVL", 835},        {"NVIDIA GH200 480GB", 989},
                              {"NVIDIA GH200 144G HBM3e", 989}};

// Memory as cudaMemGetInfo gives it on an idle GPU; the rest from NVIDIA's data sheets.
const std::vector<GpuKind>& known_gpus() {
  static const std::vector<GpuKind> gpus = {
      {"H100-80", int64_t(79) << 30, peak_flops("NVIDIA H100 80GB HBM3").value(), 3.35e12, 450e9},
      {"H200-141", int64_t(139) << 30, peak_flops("NVIDIA H200").value(), 4.8e12, 450e9}};
  return gpus;
}

[[noreturn]] void refuse(const std::string& machine) {
  throw ConfigError("--machine: '{}' is not COUNTxGPU, like 8x{}: a count from 1 to {} and {}", machine,
                    known_gpus().front().name, kMostGpus, fmt::join(gpu_kinds(), " or "));
}

// Of /proc/meminfo; −1 where it has none.
int64_t kibibytes_available() {
  std::ifstream file("/proc/meminfo");
  int64_t number = -1;
  for (std::string word; file >> word;)
    if (word == "MemAvailable:") return file >> number ? number : -1;
  return -1;
}

}  // namespace

std::optional<double> peak_flops(const std::string& gpu) {
  const auto* known = std::ranges::find_if(kPeaks, [&](const GpuPeak& peak) { return gpu == peak.name; });
  if (known == std::end(kPeaks)) return std::nullopt;
  return known->tflops * 1e12;
}

int64_t available_memory_bytes() {
  int64_t available = std::numeric_limits<int64_t>::max();
  if (const int64_t kib = kibibytes_available(); kib >= 0) available = kib << 10;
  return std::min(available, cgroup_room().memory_bytes.value_or(available));
}

std::vector<std::string> gpu_kinds() {
  std::vector<std::string> names;
  for (const GpuKind& gpu : known_gpus()) names.push_back(gpu.name);
  return names;
}

PlanSite site_here(const RunConfig& config, const policy::Communicator& ranks) {
  const policy::PolicyOptions options = config.model.policy();
  PlanSite site{.ranks = ranks.size(),
                .free_host_bytes = available_memory_bytes() / ranks.local_size(),
                .cores = std::max<int64_t>(1, allowed_core_count() / ranks.core_size())};
  if (!options.on_gpu()) return site;
  site.free_gpu_bytes = device_free_bytes(options);
  site.library_bytes = policy::cuda::kLibraryBytes;
  site.attention_bytes = device_library_bytes(options) - policy::cuda::kLibraryBytes;
  return site;
}

PlanSite site_named(const std::string& machine) {
  const size_t x = machine.find('x');
  int64_t count = 0;
  const char *begin = machine.data(), *end = begin + std::min(x, machine.size());
  const auto [stop, error] = std::from_chars(begin, end, count);
  if (x == std::string::npos || error != std::errc() || stop != end || count < 1 || count > kMostGpus)
    refuse(machine);
  const auto gpu = std::ranges::find(known_gpus(), machine.substr(x + 1), &GpuKind::name);
  if (gpu == known_gpus().end()) refuse(machine);
  return {
      .ranks = count,
      .free_gpu_bytes = gpu->memory_bytes,
      .attention_bytes = policy::cuda::attention_bytes({gpu->name, gpu->memory_bytes, gpu->memory_bytes, ""}),
      .library_bytes = policy::cuda::kLibraryBytes,
      .cores = kCoresPerGpu,
      .gpu = *gpu};
}

PlanSite with_ranks(PlanSite site, int64_t ranks) {
  site.ranks = ranks;
  return site;
}

}  // namespace temper::trainer
