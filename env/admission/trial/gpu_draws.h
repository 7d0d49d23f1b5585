#pragma once
// The GPU's half of trial_draws.h. gpu_draws_none.cc stands in for it in a build without code for GPUs.

#include "env/admission/trial/trial_draws.h"

namespace temper::env {

// Draws as the judge's runner and oracle do on that GPU, in torch's context. Errors: as drawer_on.
Drawer gpu_drawer(at::Device gpu);

}  // namespace temper::env
