#include "env/admission/trial/gpu_draws.h"

#include <memory>

#include "env/gpu/case.h"
#include "env/gpu/device/driver.h"
#include "env/gpu/device/toolbox.h"
#include "env/oracle/tolerance.h"

namespace temper::env {

Drawer gpu_drawer(at::Device gpu) {
  at::empty({1}, at::device(gpu));  // torch's context is there before ours is asked for, which is the same
  const auto tools = std::make_shared<GpuToolbox>(enter_gpu(gpu.index()), nullptr);
  return [gpu, tools](const TrialDraw& draw) {
    const TensorSpec& input = draw.input;
    at::Tensor values =
        at::empty(tensor_sizes(input, draw.shape), at::device(gpu).dtype(dtype_of(input.type)));
    Draws draws;
    draws.count = 1;
    draws.spec[0] = draw_spec(input, draw.shape, draw.magnitude, draw.form, draw.key);
    if (draw.spike) draws.spec[0].spike = int64_t(*draw.spike % uint64_t(values.numel()));
    draws.at[0] = uint64_t(values.data_ptr());
    tools->draw(draws);
    return values;
  };
}

}  // namespace temper::env
