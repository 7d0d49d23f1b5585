#pragma once
// Whether a candidate in CUDA computes its task's reference, found without a GPU: at every check shape,
// magnitude and in several orders of threads. For tests.

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>

#include "env/oracle/reference.h"
#include "env/oracle/tolerance.h"
#include "tests/cuda_on_cpu/candidates.h"

namespace temper::cuda_on_cpu {

inline at::Tensor drawn(const env::TensorSpec& input, const env::Shape& shape, double magnitude) {
  const auto sizes = env::tensor_sizes(input, shape);
  if (input.distribution == env::Distribution::kIndex) {
    const auto it = shape.find(input.index_bound);
    const int64_t bound = it != shape.end() ? it->second : std::stoll(input.index_bound);
    return at::randint(bound, sizes, at::kInt);
  }
  auto values = input.distribution == env::Distribution::kUniform
                    ? at::rand(sizes) * (input.high - input.low) + input.low
                    : at::randn(sizes) * env::normal_scale(input, shape, magnitude);
  if (input.nonfinite) values.view({-1})[0] = NAN;
  return values.to(env::dtype_of(input.type)).contiguous();
}

// One call: buffers, sizes, and what should come out.
class Case {
 public:
  Case(const env::Task& task, const env::Reference& reference, const env::Shape& shape, double magnitude)
      : task_(task) {
    std::vector<at::Tensor> inputs, wide;
    for (const auto& input : task.inputs) {
      inputs.push_back(drawn(input, shape, magnitude));
      wide.push_back(input.type == env::ElementType::kI32 ? inputs.back() : inputs.back().to(at::kDouble));
      place(inputs.back(), 0xFF);
    }
    const auto expected = reference(wide), own = reference(inputs);
    for (size_t i = 0; i < expected.size(); ++i) {
      outputs_.push_back(
          {expected[i].to(at::kDouble).contiguous(), own[i].to(at::kDouble).contiguous(), buffers_.size()});
      place(at::zeros_like(expected[i]).to(env::dtype_of(task.outputs[i].type)), 0xA5);
    }
    for (const auto& dim : task.dims) sizes_.push_back(int(shape.at(dim)));
  }

  // With an output that is poisoned.
  Call call(int order) {
    for (const auto& output : outputs_) {
      const auto& buffer = *buffers_[output.buffer];
      std::memset(buffer.data(), 0xFF, buffer.bytes());
    }
    for (const auto& buffer : buffers_) buffer->fill_guards();
    Call prepared{order, {}};
    for (const auto& buffer : buffers_) prepared.arguments.push_back(buffer->data());
    for (int& size : sizes_) prepared.arguments.push_back(&size);
    return prepared;
  }

  // Whether the call computed the reference, and wrote nowhere else.
  bool right() const {
    bool all = guards_hold();
    for (size_t i = 0; i < outputs_.size(); ++i) all = all && equal(outputs_[i], task_.outputs[i].type);
    return all;
  }

 private:
  struct Output {
    at::Tensor expected, own;
    size_t buffer;
  };

  // Beyond inputs lies NaN; beyond outputs what no kernel computes from it.
  void place(const at::Tensor& tensor, int guard) {
    buffers_.push_back(std::make_unique<SharedBuffer>(tensor.nbytes(), guard));
    std::memcpy(buffers_.back()->data(), tensor.data_ptr(), tensor.nbytes());
  }

  // As the judge allows: by the output's scale, its rounding, and four times PyTorch's own error.
  bool guards_hold() const {
    return std::ranges::all_of(buffers_, [](const auto& buffer) { return buffer->guards_hold(); });
  }

  bool equal(const Output& output, env::ElementType type) const {
    const auto& [expected, own, buffer] = output;
    const auto got =
        at::from_blob(buffers_[buffer]->data(), expected.sizes(), env::dtype_of(type)).to(at::kDouble);
    const double rounding = type == env::ElementType::kBF16  ? 1.0 / 128
                            : type == env::ElementType::kF16 ? 1.0 / 1024
                                                             : 1e-6;
    const auto finite = at::nan_to_num(expected, 0, 0, 0);
    const double scale = finite.abs().mean().item<double>() + 1e-12;
    const double parity = 4 * at::nan_to_num(own - expected, 0, 0, 0).abs().max().item<double>();
    const auto allowed = finite.abs() * rounding + 4 * scale * std::max(task_.tolerance, 1e-5) + parity;
    const auto held = expected.to(env::dtype_of(type)).to(at::kDouble);  // infinite where the type ends
    const auto same = at::logical_or(got == held, at::logical_and(at::isnan(got), at::isnan(held)));
    return at::where(at::isfinite(held), (got - expected).abs() <= allowed, same).all().item<bool>();
  }

  const env::Task& task_;
  std::vector<std::unique_ptr<SharedBuffer>> buffers_;
  std::vector<int> sizes_;
  std::vector<Output> outputs_;
};

// Right at every check shape, magnitude and order of threads that is tried.
class Computed {
 public:
  explicit Computed(const env::Task& task) : task_(task), reference_(task) {
    at::manual_seed(1);
    for (const auto& shape : task.check_shapes) {
      for (const double magnitude : task.magnitudes)
        cases_.push_back(std::make_unique<Case>(task_, reference_, shape, magnitude));
    }
    while (cases_.size() < 3)
      cases_.push_back(std::make_unique<Case>(task_, reference_, task.check_shapes[0], task.magnitudes[0]));
  }

  bool by(const Library& library, size_t variant) {
    std::vector<Call> calls;
    for (size_t k = 0; k < cases_.size(); ++k) calls.push_back(cases_[k]->call(int(k % 3)));
    return library.run(variant, calls) &&
           std::ranges::all_of(cases_, [](const auto& one) { return one->right(); });
  }

 private:
  const env::Task& task_;
  env::Reference reference_;
  std::vector<std::unique_ptr<Case>> cases_;
};

}  // namespace temper::cuda_on_cpu
