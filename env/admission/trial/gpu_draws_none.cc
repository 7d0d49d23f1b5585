#include "base/error.h"
#include "env/admission/trial/gpu_draws.h"

namespace temper::env {

Drawer gpu_drawer(at::Device) { throw WorldError("this build has no code for GPUs"); }

}  // namespace temper::env
