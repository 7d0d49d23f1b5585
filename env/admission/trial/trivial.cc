#include "env/admission/trial/trivial.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace temper::env {
namespace {

using Make = std::function<at::Tensor(const at::Tensor& expected)>;

Tensors on_each(const Tensors& expected, const Make& make) {
  Tensors outputs;
  for (const auto& output : expected) outputs.push_back(make(output));
  return outputs;
}

at::Tensor poison(const at::Tensor& like) {
  return like.is_floating_point() ? at::full_like(like, std::numeric_limits<double>::quiet_NaN())
                                  : at::full_like(like, -1);
}

// Means of what is finite, in the type of the output: the best that a constant can do.
at::Tensor averaged(const at::Tensor& expected, at::OptionalIntArrayRef axes) {
  const at::Tensor wide = expected.to(at::kDouble);
  at::Tensor means = at::where(wide.isfinite(), wide, 0.0).mean(axes, true);
  if (!expected.is_floating_point()) means = means.round();
  return means.expand_as(expected).to(expected.scalar_type());
}

// The input from its beginning, again and again.
at::Tensor repeated(const at::Tensor& input, const at::Tensor& like) {
  const at::Tensor flat = input.flatten(), place = at::arange(like.numel(), like.options().dtype(at::kLong));
  return flat.index_select(0, place.remainder(flat.numel())).to(like.scalar_type()).reshape(like.sizes());
}

// The second half of an axis says the same as the first.
at::Tensor halved(const at::Tensor& input, int64_t axis) {
  const int64_t size = input.size(axis), half = (size + 1) / 2;
  return at::cat({input.narrow(axis, 0, half), input.narrow(axis, 0, size - half)}, axis);
}

at::Tensor fewer_bits(const at::Tensor& input) {
  if (!input.is_floating_point()) return input;
  return input.to(input.scalar_type() == at::kFloat ? at::kBFloat16 : at::kFloat8_e4m3fn)
      .to(input.scalar_type());
}

bool all_integers(const Tensors& tensors) {
  return std::ranges::none_of(tensors, [](const at::Tensor& tensor) { return tensor.is_floating_point(); });
}

std::string with_input(const char* solver, const TensorSpec& input) {
  return fmt::format("{} {}", solver, input.name);
}

}  // namespace

Tensors with(Tensors tensors, size_t index, at::Tensor other) {
  tensors[index] = std::move(other);
  return tensors;
}

std::vector<std::string> trivial_names(const Task& task) {
  std::vector<std::string> names{"nothing",  "zeros",       "ones",        "mean",
                                 "row_mean", "column_mean", "last_answer", "fewer_bits"};
  for (const auto& input : task.inputs)
    for (const char* solver : {"copy_of", "first_half_of", "left_half_of"})
      names.push_back(with_input(solver, input));
  return names;
}

Tensors trivial_outputs(const std::string& name, const TrivialRequest& request) {
  const Tensors& expected = request.expected;
  const auto along = [&](int64_t axis) -> Tensors {
    for (const auto& output : expected)
      if (output.size(axis) < 2) return {};
    return on_each(expected,
                   [axis](const at::Tensor& output) { return averaged(output, at::IntArrayRef(&axis, 1)); });
  };
  if (name == "nothing") return on_each(expected, poison);
  if (name == "zeros")
    return on_each(expected, [](const at::Tensor& output) { return at::zeros_like(output); });
  if (name == "ones")
    return on_each(expected, [](const at::Tensor& output) { return at::ones_like(output); });
  if (name == "mean") {
    for (const auto& output : expected)
      if (output.numel() < 2) return {};
    return on_each(expected,
                   [](const at::Tensor& output) { return averaged(output, at::OptionalIntArrayRef()); });
  }
  if (name == "row_mean") return along(-1);
  if (name == "column_mean") return along(0);
  if (name == "last_answer") return request.last;
  if (name == "fewer_bits") {
    if (all_integers(request.inputs)) return {};
    Tensors inputs;
    for (const auto& input : request.inputs) inputs.push_back(fewer_bits(input));
    return request.reference(inputs);
  }
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const TensorSpec& spec = request.task.inputs[i];
    const at::Tensor& input = request.inputs[i];
    if (name == with_input("copy_of", spec))
      return on_each(expected, [&](const at::Tensor& output) { return repeated(input, output); });
    const bool first = name == with_input("first_half_of", spec);
    if (!first && name != with_input("left_half_of", spec)) continue;
    const int64_t axis = first ? 0 : input.dim() - 1;
    if (input.size(axis) < 2) return {};
    return request.reference(with(request.inputs, i, halved(input, axis)));
  }
  TEMPER_CHECK(false, "trivial solver {}", name);
}

}  // namespace temper::env
