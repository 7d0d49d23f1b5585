// Which draws a GPU's oracle makes of turns: how far each kind may go is measured here, as the CPU's oracle
// does (oracle.cc).

#include "env/call/draw_turns.h"
#include "env/oracle/gpu_oracle.h"

#include <algorithm>

#include "env/oracle/sensitivity.h"
#include "env/oracle/tolerance.h"

namespace temper::env {

// Whether a right answer, the reference in single precision, stays within a neighbourhood of the strict bound.
bool GpuOracle::stays_right(const FarKey& key, size_t output, const at::Tensor& got,
                            const at::Tensor& right) {
  const auto& [index, shape, magnitude, input, kind] = key;
  const Task& task = tasks_[index];
  const TensorSpec& spec = task.outputs[output];
  if (!is_float(spec.type)) return got.to(at::kLong).equal(right.to(at::kLong));
  const bool nonfinite = std::ranges::any_of(task.inputs, [](const auto& one) { return one.nonfinite; });
  if (!nonfinite && !right.to(dtype_of(spec.type)).isfinite().all().item<bool>()) return false;
  const Shape& sizes = shape_of(task, shape);
  const double scale = scales({index, shape, magnitude})[output];
  if (singles_out(kind) && right.abs().max().item<double>() > scale * most_growth(task, output, sizes))
    return false;
  const at::Tensor mine = got.to(dtype_of(spec.type)).contiguous();
  const CompareSpec bound{.elements = mine.numel(),
                          .type = spec.type,
                          .relative = kNeighbourhood * strict_error(task, output, sizes),
                          .scale = scale};
  return compare_with(bound, CUdeviceptr(mine.data_ptr()), right.to(at::kDouble).contiguous()).wrong == 0;
}

bool GpuOracle::stays_right(const FarKey& key, double far, uint64_t seed) {
  const auto& [index, shape, magnitude, input, kind] = key;
  const Task& task = tasks_[index];
  const GpuDraw fixed{.shape = shape, .magnitude = magnitude, .seed = seed};
  std::vector<DrawSpec> specs = draw_specs(task, fixed);
  const auto forms = outermost_forms(task, shape_of(task, shape), magnitude, seed, input, kind, far);
  for (size_t i = 0; i < specs.size(); ++i) specs[i].form = forms[i];
  try {
    const Tensors inputs = drawn(task, fixed, specs), right = expected(index, inputs),
                  single = references_[index].wide(inputs, at::kFloat);
    for (size_t output = 0; output < right.size(); ++output)
      if (!stays_right(key, output, single[output], right[output])) return false;
    return true;
  } catch (const std::exception&) {  // a reference that refuses such inputs
    return false;
  }
}

double GpuOracle::far(const FarKey& key) {
  const auto right = [&](double far, uint64_t seed) { return stays_right(key, far, seed); };
  return far_.of(key, [&] { return farthest(std::get<DrawKind>(key), right); });
}

void GpuOracle::settle(const GpuOracleRequest& request, GpuOracleReply& reply) {
  check_draws(request);
  const Task& task = tasks_[request.task];
  for (int32_t i = 0; i < request.draws; ++i) {
    const GpuDraw& draw = request.draw[i];
    const auto limit = [&](int input, DrawKind kind) {
      return far({request.task, draw.shape, draw.magnitude, input, kind});
    };
    const auto choices = draw_choices(task, shape_of(task, draw.shape), {draw.turn_key, draw.turn}, limit);
    for (size_t input = 0; input < choices.size(); ++input) {
      reply.kind[i][input] = choices[input].kind;
      const auto step = std::ranges::find(kFarSteps, choices[input].far);
      reply.far[i][input] = step == std::end(kFarSteps) ? 0 : uint8_t(1 + (step - std::begin(kFarSteps)));
    }
  }
}

}  // namespace temper::env
