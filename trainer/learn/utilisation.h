#pragma once
// How much of the devices' arithmetic goes into the model itself: model flops utilisation.
//
// Formula: MFU = model flops / (seconds · devices · peak), the flops being those of policy/layouts.h.
// Source:  Chowdhery et al., "PaLM" (2022), section 4.1 and appendix B

#include <cstdint>
#include <optional>

#include "policy/policy.h"
#include "rollout/trajectory.h"
#include "trainer/learn/learner.h"
#include "trainer/run/metrics.h"

namespace temper::trainer {

// The devices on which the ranks compute, each taken to be as fast as this rank's.
struct Devices {
  int64_t count = 1;
  std::optional<double> peak_flops = {};  // of each device; empty for a CPU
};
Devices devices_of(const policy::Policy& policy);

// Operations of drawing the policy's own tokens of a batch, each from all tokens before it. Prompts and feedback are
// not counted, because answers share them and they are computed once.
double generation_flops(const policy::ModelConfig& config, const rollout::Batch& batch);

// Adds throughput/model_tflops, the TFLOP/s of the update on each device, and throughput/mfu, its share of the peak, if
// the peak is known. throughput/gen_model_tflops and throughput/gen_mfu are the same for generation. Metrics of work
// that was not done are left out.
void add_utilisation(const LearnStats& learned, double generation_flops, double generate_s,
                     const Devices& devices, Metrics& metrics);

}  // namespace temper::trainer
