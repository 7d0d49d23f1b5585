#include "trainer/learn/utilisation.h"

#include "policy/layouts.h"
#include "policy/ranks/communicator.h"
#include "trainer/config/device.h"
#include "trainer/plan/machine.h"

namespace temper::trainer {
namespace {

constexpr double kTera = 1e12;

void add_rate(const std::string& prefix, double flops, double seconds, const Devices& devices,
              Metrics& metrics) {
  if (flops <= 0 || seconds <= 0) return;
  const double each = flops / seconds / double(devices.count);
  metrics[prefix + "model_tflops"] = each / kTera;
  if (devices.peak_flops) metrics[prefix + "mfu"] = each / *devices.peak_flops;
}

}  // namespace

Devices devices_of(const policy::Policy& policy) {
  return {policy.ranks().size(), peak_flops(gpu_name(policy.options()))};
}

double generation_flops(const policy::ModelConfig& config, const rollout::Batch& batch) {
  double flops = 0;
  for (const rollout::Group& group : batch.groups)
    for (const rollout::Trajectory& trajectory : group.samples)
      for (const rollout::Turn& turn : trajectory.turns)
        for (const rollout::Span& span : turn.spans())
          flops += policy::forward_flops(config, span.end, span.end - span.begin) -
                   policy::forward_flops(config, span.begin, 0);
  return flops;
}

void add_utilisation(const LearnStats& learned, double generation_flops, double generate_s,
                     const Devices& devices, Metrics& metrics) {
  add_rate("throughput/", learned.model_flops, learned.seconds, devices, metrics);
  add_rate("throughput/gen_", generation_flops, generate_s, devices, metrics);
}

}  // namespace temper::trainer
