#include "env/oracle/oracle.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/rng.h"
#include "env/oracle/draw.h"
#include "env/oracle/proof.h"
#include "env/oracle/tolerance.h"

namespace temper {
namespace {

constexpr uint64_t kFixedSeed = 0x7E3;  // for what is measured once and no secret

OracleReply error_reply(const std::string& text) {
  OracleReply reply;
  reply.status = OracleStatus::kError;
  text.copy(reply.error, sizeof reply.error - 1);
  return reply;
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

std::vector<at::Tensor> copies(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> result;
  for (const auto& tensor : tensors) result.push_back(tensor.clone());
  return result;
}

}  // namespace

Oracle::Oracle(std::vector<Task> tasks, uint8_t* arena, int64_t arena_bytes)
    : tasks_(std::move(tasks)), arena_(arena), arena_bytes_(arena_bytes) {
  for_each_task(tasks_.size(), [&](size_t i) { references_.emplace_back(tasks_[i]); });
  for_each_task(tasks_.size(), [&](size_t i) { prove(i); });
  // Generated tasks are practice: a variation may cancel an input out.
  for_each_task(tasks_.size(), [&](size_t i) {
    if (!tasks_[i].generated()) prove_influence(i);
  });
}

const Shape& Oracle::shape_of(size_t task, int32_t shape) const {
  return shape < 0 ? tasks_[task].timed_shape : tasks_[task].check_shapes.at(size_t(shape));
}

std::vector<at::Tensor> Oracle::draw_tensors(size_t task, const Shape& shape, double magnitude,
                                             uint64_t seed) const {
  std::vector<at::Tensor> tensors;
  for (const auto& input : tasks_[task].inputs) {
    tensors.push_back(at::empty(tensor_sizes(input, shape), dtype_of(input.type)));
    draw_input(input, shape, magnitude, mix_key({seed, tensors.size()}), tensors.back().mutable_data_ptr());
  }
  return tensors;
}

std::vector<at::Tensor> Oracle::run_named(size_t task, const std::vector<at::Tensor>& inputs) const {
  try {
    return references_[task](inputs);
  } catch (const std::exception& error) {
    throw ConfigError("task {}, reference: {}", tasks_[task].name, torch_words(error));
  }
}

void Oracle::prove(size_t task) const {
  const Task& asked = tasks_[task];
  for (int32_t shape = -1; shape < int32_t(asked.check_shapes.size()); ++shape) {
    const Shape& sizes = shape_of(task, shape);
    const auto inputs = draw_tensors(task, sizes, asked.magnitudes[0], kFixedSeed), before = copies(inputs);
    const auto outputs = run_named(task, inputs);
    check_output_sizes(asked, sizes, outputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (same_bits(inputs[i], before[i])) continue;
      throw ConfigError("task {}, reference: changes its input {}", asked.name, asked.inputs[i].name);
    }
  }
}

OracleReply Oracle::answer(const OracleRequest& request) {
  try {
    if (request.op == OracleOp::kCompare) return compare(request);
    if (request.op == OracleOp::kDraw) draw(request);
    if (request.op == OracleOp::kReference) write_reference(request.draw);
    OracleReply reply;
    reply.status = OracleStatus::kOk;
    return reply;
  } catch (const std::exception& error) {
    return error_reply(error.what());
  }
}

void Oracle::draw(const OracleRequest& request) {
  current_.inputs.clear();
  if (request.task >= tasks_.size()) throw ConfigError("task {} of {}", request.task, tasks_.size());
  const Task& task = tasks_[request.task];
  const Shape& shape = shape_of(request.task, request.shape);
  current_ = {request.task, request.shape, request.magnitude, case_layout(task, shape), {}};
  if (request.count < 1 || request.count > kMaxTimedDraws ||
      request.count * current_.layout.bytes > arena_bytes_) {
    throw ConfigError("{} draws of {} bytes in an arena of {}", request.count, current_.layout.bytes,
                      arena_bytes_);
  }
  for (int64_t draw = 0; draw < request.count; ++draw) {
    auto& views = current_.inputs.emplace_back();
    for (size_t i = 0; i < task.inputs.size(); ++i) {
      const TensorSpec& input = task.inputs[i];
      void* data = arena_ + draw * current_.layout.bytes + current_.layout.inputs[i].offset;
      const int64_t repeated = request.perturb ? 0 : draw;
      draw_input(input, shape, request.magnitude, mix_key({request.seed, uint64_t(repeated), i}), data);
      if (request.perturb && draw > 0 && size_t(draw - 1) % task.inputs.size() == i) {
        spike_input(input, shape, request.magnitude, mix_key({request.seed, uint64_t(draw), i, 1}), data);
      }
      views.push_back(at::from_blob(data, tensor_sizes(input, shape), dtype_of(input.type)));
    }
  }
}

std::vector<at::Tensor> Oracle::run_baseline(int64_t draw) const {
  if (draw < 0 || draw >= int64_t(current_.inputs.size())) {
    throw ConfigError("draw {} of {}", draw, current_.inputs.size());
  }
  return references_[current_.task](current_.inputs[size_t(draw)]);
}

void Oracle::write_reference(int64_t draw) const {
  const Task& task = tasks_[current_.task];
  const auto outputs = run_baseline(draw);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const at::Tensor result = outputs[i].to(dtype_of(task.outputs[i].type)).contiguous();
    std::memcpy(arena_ + draw * current_.layout.bytes + current_.layout.outputs[i].offset,
                result.const_data_ptr(), result.nbytes());
  }
}

std::vector<double> Oracle::measure_scales(const ScaleKey& key) const {
  const auto& [task, shape, magnitude] = key;
  return output_scales(tasks_[task], shape_of(task, shape), [&](uint64_t draw) {
    const auto inputs = draw_tensors(task, shape_of(task, shape), magnitude, mix_key({kFixedSeed, draw}));
    return references_[task].wide(inputs);
  });
}

const std::vector<double>& Oracle::scales(const ScaleKey& key) {
  const auto it = scales_.find(key);
  return it != scales_.end() ? it->second : scales_.emplace(key, measure_scales(key)).first->second;
}

Comparison Oracle::compare_floats(size_t output, int64_t draw, const at::Tensor& expected,
                                  OutputReport& report) {
  const Task& task = tasks_[current_.task];
  const uint8_t* outputs = arena_ + draw * current_.layout.bytes;
  const auto* got = reinterpret_cast<const float*>(outputs + current_.layout.outputs[output].offset);
  const auto* right = expected.const_data_ptr<double>();
  Bound bound;
  bound.scale = scales({current_.task, current_.shape, current_.magnitude})[output];
  bound.relative = strict_error(task, output, shape_of(current_.task, current_.shape));
  const Comparison strict = compare_f32(got, right, expected.numel(), bound);
  if (strict.wrong == 0) return strict;
  // Only now is it worth asking how wrong the f32 baseline is on this very draw.
  const at::Tensor baseline = run_baseline(draw)[output].to(at::kFloat).contiguous();
  const double error = relative_error(baseline.const_data_ptr<float>(), right, expected.numel(), bound.scale);
  bound.relative = allowed_error(bound.relative, task.outputs[output].type, error);
  const Comparison found = compare_f32(got, right, expected.numel(), bound);
  if (found.wrong > 0) report = report_f32(got, right, expected.numel(), bound);
  return found;
}

Comparison Oracle::compare_output(size_t output, int64_t draw, const at::Tensor& expected,
                                  OutputReport& report) {
  if (tasks_[current_.task].outputs[output].type == ElementType::kF32)
    return compare_floats(output, draw, expected, report);
  const uint8_t* outputs = arena_ + draw * current_.layout.bytes;
  const auto* got = reinterpret_cast<const int32_t*>(outputs + current_.layout.outputs[output].offset);
  const auto* right = expected.const_data_ptr<int64_t>();
  const Comparison found = compare_i32(got, right, expected.numel());
  if (found.wrong > 0) report = report_i32(got, right, expected.numel());
  return found;
}

OracleReply Oracle::compare(const OracleRequest& request) {
  if (request.draw < 0 || request.draw >= int64_t(current_.inputs.size())) {
    throw ConfigError("draw {} of {}", request.draw, current_.inputs.size());
  }
  const auto expected = references_[current_.task].wide(current_.inputs[size_t(request.draw)]);
  OracleReply reply;
  reply.status = OracleStatus::kOk;
  for (size_t output = 0; output < expected.size(); ++output) {
    const Comparison found =
        compare_output(output, request.draw, expected[output], reply.report.output[output]);
    if (found.wrong == 0 || reply.status == OracleStatus::kMismatch) continue;
    reply.status = OracleStatus::kMismatch;
    reply.tensor = int32_t(output);
    reply.index = found.worst;
    reply.got = found.got;
    reply.expected = found.expected;
    reply.allowed = found.allowed;
    reply.wrong = found.wrong;
  }
  return reply;
}

bool Oracle::matters(size_t task, size_t input, int32_t shape) const {
  const Shape& sizes = shape_of(task, shape);
  auto inputs = draw_tensors(task, sizes, tasks_[task].magnitudes[0], kFixedSeed);
  const auto before = references_[task].wide(inputs);
  inputs[input] = draw_tensors(task, sizes, tasks_[task].magnitudes[0], kFixedSeed + 1)[input];
  const auto after = references_[task].wide(inputs);
  return !std::equal(before.begin(), before.end(), after.begin(), same_bits);
}

void Oracle::prove_influence(size_t task) const {
  const Task& asked = tasks_[task];
  for (size_t input = 0; input < asked.inputs.size(); ++input) {
    bool found = false;
    for (int32_t shape = int32_t(asked.check_shapes.size()); shape-- > -1 && !found;)
      found = matters(task, input, shape);
    if (found) continue;
    throw ConfigError("task {}, reference: input {} has no influence on any output", asked.name,
                      asked.inputs[input].name);
  }
}

}  // namespace temper
