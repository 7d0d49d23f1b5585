#include "trainer/utilisation.h"

#include <algorithm>
#include <iterator>

#include "policy/communicator.h"
#include "policy/layouts.h"
#include "trainer/device.h"

namespace temper {
namespace {

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

constexpr double kTera = 1e12;

void add_rate(const std::string& prefix, double flops, double seconds, const Devices& devices,
              Metrics& metrics) {
  if (flops <= 0 || seconds <= 0) return;
  const double each = flops / seconds / double(devices.count);
  metrics[prefix + "model_tflops"] = each / kTera;
  if (devices.peak_flops) metrics[prefix + "mfu"] = each / *devices.peak_flops;
}

}  // namespace

std::optional<double> peak_flops(const std::string& gpu) {
  const auto* known = std::ranges::find_if(kPeaks, [&](const GpuPeak& peak) { return gpu == peak.name; });
  if (known == std::end(kPeaks)) return std::nullopt;
  return known->tflops * kTera;
}

Devices devices_of(const Policy& policy) {
  return {policy.ranks().size(), peak_flops(gpu_name(policy.options()))};
}

double generation_flops(const ModelConfig& config, const Batch& batch) {
  double flops = 0;
  for (const Group& group : batch.groups)
    for (const Trajectory& trajectory : group.samples)
      for (const Turn& turn : trajectory.turns)
        for (const Span& span : turn.spans())
          flops +=
              forward_flops(config, span.end, span.end - span.begin) - forward_flops(config, span.begin, 0);
  return flops;
}

void add_utilisation(const LearnStats& learned, double generation_flops, double generate_s,
                     const Devices& devices, Metrics& metrics) {
  add_rate("throughput/", learned.model_flops, learned.seconds, devices, metrics);
  add_rate("throughput/gen_", generation_flops, generate_s, devices, metrics);
}

}  // namespace temper
