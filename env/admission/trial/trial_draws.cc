#include "env/admission/trial/trial_draws.h"

#include "env/admission/trial/gpu_draws.h"
#include "env/oracle/draw.h"
#include "env/oracle/tolerance.h"

namespace temper::env {
namespace {

at::Tensor drawn_here(const TrialDraw& draw) {
  const TensorSpec& spec = draw.input;
  at::Tensor values = at::empty(tensor_sizes(spec, draw.shape), is_float(spec.type) ? at::kFloat : at::kInt);
  draw_input(spec, draw.shape, draw.magnitude, draw.form, draw.key, values.mutable_data_ptr());
  if (draw.spike) spike_input(spec, draw.shape, draw.magnitude, *draw.spike, values.mutable_data_ptr());
  return values.to(dtype_of(spec.type));
}

}  // namespace

Drawer drawer_on(at::Device device) { return device.is_cuda() ? gpu_drawer(device) : drawn_here; }

}  // namespace temper::env
