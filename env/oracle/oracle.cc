#include "env/oracle/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/rng.h"
#include "env/call/draw_turns.h"
#include "env/oracle/draw.h"
#include "env/oracle/proof.h"
#include "env/oracle/tolerance.h"

namespace temper::env {
namespace {

constexpr uint64_t kFixedSeed = 0x7E3;  // for what is measured once and no secret
constexpr int kMostAssumed = 32;        // after so many draws it is cheaper to measure how far a kind may go
constexpr int64_t kMostKeptBytes = int64_t(8) << 20;  // of a draw's right outputs; others are computed twice

// A perturbed draw repeats the first one but for an element.
uint64_t seed_of(const OracleRequest& request, int64_t draw) {
  return mix_key({request.seed, request.perturb ? 0 : uint64_t(draw)});
}

OracleReply error_reply(const std::string& text) {
  OracleReply reply;
  reply.status = OracleStatus::kError;
  text.copy(reply.error, sizeof reply.error - 1);
  return reply;
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

const Shape& Oracle::shape_of(size_t task, int32_t shape) const { return env::shape_of(tasks_[task], shape); }

std::vector<at::Tensor> Oracle::draw_tensors(size_t task, const Shape& shape, double magnitude,
                                             uint64_t seed) const {
  return draw_tensors(task, shape, magnitude, seed,
                      draw_forms(tasks_[task], shape, magnitude, seed, DrawTurn(), nullptr));
}

std::vector<at::Tensor> Oracle::draw_tensors(size_t task, const Shape& shape, double magnitude, uint64_t seed,
                                             const std::vector<DrawForm>& forms) const {
  std::vector<at::Tensor> tensors;
  for (const auto& input : tasks_[task].inputs) {
    const size_t i = tensors.size();
    tensors.push_back(at::empty(tensor_sizes(input, shape), dtype_of(input.type)));
    draw_input(input, shape, magnitude, forms[i], mix_key({seed, i + 1}), tensors.back().mutable_data_ptr());
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
  for (int32_t shape = first_shape(asked); shape < int32_t(asked.check_shapes.size()); ++shape) {
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
  current_ = {request.task, request.shape, request.magnitude, case_layout(task, shape), {}, {}, {}};
  if (request.count < 1 || request.count > kMaxTimedDraws ||
      request.count * current_.layout.bytes > arena_bytes_) {
    throw ConfigError("{} draws of {} bytes in an arena of {}", request.count, current_.layout.bytes,
                      arena_bytes_);
  }
  const auto count = size_t(request.count);
  current_.inputs.resize(count), current_.far.resize(count), current_.right.resize(count);
  for (int64_t draw = 0; draw < request.count; ++draw) draw_one(request, draw);
}

void Oracle::draw_one(const OracleRequest& request, int64_t draw) {
  const Task& task = tasks_[request.task];
  const Shape& shape = shape_of(request.task, request.shape);
  const uint64_t seed = seed_of(request, draw);
  const bool turns = request.turn >= 0 && !request.perturb;
  const DrawTurn turn{request.turn_key, turns ? int32_t(request.turn + draw) : -1, request.timed != 0};
  const auto key = [&](int input, DrawKind kind) {
    return FarKey{request.task, request.shape, request.magnitude, input, kind};
  };
  bool assumed = false;
  auto forms = draw_forms(task, shape, request.magnitude, seed, turn, [&](int input, DrawKind kind) {
    return far_or_assumed(key(input, kind), assumed);
  });
  fill_draw(request, draw, forms);
  const auto singled_out = [](const DrawForm& form) { return singles_out(form.kind); };
  if (assumed && !draw_stays_right(draw, std::ranges::any_of(forms, singled_out))) {
    forms = draw_forms(task, shape, request.magnitude, seed, turn,
                       [&](int input, DrawKind kind) { return far(key(input, kind)); });
    fill_draw(request, draw, forms);
  }
  current_.far[size_t(draw)] =
      std::ranges::any_of(forms, [](const DrawForm& form) { return form.kind != DrawKind::kPlain; });
}

void Oracle::fill_draw(const OracleRequest& request, int64_t draw, const std::vector<DrawForm>& forms) {
  const Task& task = tasks_[request.task];
  const Shape& shape = shape_of(request.task, request.shape);
  const uint64_t seed = seed_of(request, draw);
  auto& views = current_.inputs[size_t(draw)];
  views.clear();
  current_.right[size_t(draw)].clear();
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    const TensorSpec& input = task.inputs[i];
    void* data = arena_ + draw * current_.layout.bytes + current_.layout.inputs[i].offset;
    draw_input(input, shape, request.magnitude, forms[i], mix_key({seed, i}), data);
    if (request.perturb && draw > 0 && size_t(draw - 1) % task.inputs.size() == i) {
      spike_input(input, shape, request.magnitude, mix_key({request.seed, uint64_t(draw), i, 1}), data);
    }
    views.push_back(at::from_blob(data, tensor_sizes(input, shape), dtype_of(input.type)));
  }
}

std::vector<at::Tensor> Oracle::right_outputs(int64_t draw) {
  auto& kept = current_.right[size_t(draw)];
  if (!kept.empty()) return kept;
  auto right = references_[current_.task].wide(current_.inputs[size_t(draw)]);
  int64_t bytes = 0;
  for (const at::Tensor& output : right) bytes += int64_t(output.nbytes());
  if (bytes <= kMostKeptBytes) kept = right;
  return right;
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
  return scales_.of(key, [&] { return measure_scales(key); });
}

bool Oracle::baseline_bears(const ScaleKey& key, const std::vector<at::Tensor>& right,
                            const std::vector<at::Tensor>& baseline, bool singled_out) {
  const Task& task = tasks_[std::get<size_t>(key)];
  const Shape& shape = shape_of(std::get<size_t>(key), std::get<int32_t>(key));
  const bool nonfinite = std::ranges::any_of(task.inputs, [](const auto& spec) { return spec.nonfinite; });
  for (size_t i = 0; i < right.size(); ++i) {
    if (!is_float(task.outputs[i].type)) {
      if (!baseline[i].to(at::kLong).equal(right[i])) return false;
      continue;
    }
    const auto* expected = right[i].const_data_ptr<double>();
    const int64_t n = right[i].numel();
    const double largest = largest_size(expected, n), scale = scales(key)[i];
    if (!nonfinite && !(largest <= double(std::numeric_limits<float>::max()))) return false;
    if (singled_out && largest > scale * most_growth(task, i, shape)) return false;
    const Bound bound{kNeighbourhood * strict_error(task, i, shape), scale};
    const at::Tensor got = baseline[i].to(at::kFloat).contiguous();
    if (compare_f32(got.const_data_ptr<float>(), expected, n, bound).wrong > 0) return false;
  }
  return true;
}

bool Oracle::stays_right(const FarKey& key, double far, uint64_t seed) {
  const auto& [task, shape_index, magnitude, input, kind] = key;
  const Shape& shape = shape_of(task, shape_index);
  const auto inputs = draw_tensors(task, shape, magnitude, seed,
                                   outermost_forms(tasks_[task], shape, magnitude, seed, input, kind, far));
  return baseline_bears({task, shape_index, magnitude}, references_[task].wide(inputs),
                        references_[task](inputs), singles_out(kind));
}

bool Oracle::draw_stays_right(int64_t draw, bool singled_out) {
  return baseline_bears({current_.task, current_.shape, current_.magnitude}, right_outputs(draw),
                        run_baseline(draw), singled_out);
}

double Oracle::far_or_assumed(const FarKey& key, bool& assumed) {
  if (const double* known = far_.known(key)) return *known;
  if (assumed_[key]++ >= kMostAssumed) return far(key);
  assumed = true;
  return kFarSteps[0];
}

double Oracle::far(const FarKey& key) {
  const auto right = [&](double far, uint64_t seed) { return stays_right(key, far, seed); };
  return far_.of(key, [&] { return farthest(std::get<DrawKind>(key), right); });
}

Movements& Oracle::movements(Right& right) const {
  if (!right.movements) {
    const Task& task = tasks_[current_.task];
    const Reference& reference = references_[current_.task];
    const auto draw = size_t(right.draw);
    const RoundingErrors errors =
        current_.far[draw] ? rounding_errors(task, shape_of(current_.task, current_.shape)) : kLossesAlone;
    const auto rounded = [&reference, &inputs = current_.inputs[draw], errors](uint64_t key) {
      return reference.rounded(inputs, errors, key);
    };
    right.movements.emplace(rounded, right.expected, kFixedSeed);
  }
  return *right.movements;
}

std::vector<uint32_t> Oracle::filled(size_t output, const Right& right) const {
  const Buffer& buffer = current_.layout.outputs[output];
  std::vector<uint32_t> words(size_t(buffer.bytes) / 4);
  fill_words(right.fill, buffer.integers ? FillKind::kIntegers : FillKind::kFloats, buffer.offset / 4,
             int64_t(words.size()), words.data());
  return words;
}

// Each bound costs more than the one before, and is asked only where something lies outside that.
Comparison Oracle::compare_floats(size_t output, Right& right, OutputReport& report) {
  const Task& task = tasks_[current_.task];
  const uint8_t* outputs = arena_ + right.draw * current_.layout.bytes;
  const auto* got = reinterpret_cast<const float*>(outputs + current_.layout.outputs[output].offset);
  const at::Tensor& expected = right.expected[output];
  const auto* wanted = expected.const_data_ptr<double>();
  const int64_t n = expected.numel();
  Bound bound;
  bound.scale = scales({current_.task, current_.shape, current_.magnitude})[output];
  bound.relative = strict_error(task, output, shape_of(current_.task, current_.shape));
  Comparison found = compare_f32(got, wanted, n, bound);
  if (found.wrong == 0) return found;
  const at::Tensor baseline = run_baseline(right.draw)[output].to(at::kFloat).contiguous();
  const double error = relative_error(baseline.const_data_ptr<float>(), wanted, n, bound.scale);
  bound.relative = allowed_error(bound.relative, task.outputs[output].type, error);
  found = compare_f32(got, wanted, n, bound);
  if (found.wrong > 0) {
    bound.times = kMovements;
    movements(right).explain(output, [&](const at::Tensor& movement) {
      bound.movement = movement.const_data_ptr<double>();
      found = compare_f32(got, wanted, n, bound);
      return double(found.wrong) / double(n);
    });
  }
  if (found.wrong > 0) report = report_f32(got, wanted, n, bound, 0, filled(output, right).data());
  return found;
}

Comparison Oracle::compare_output(size_t output, Right& right, OutputReport& report) {
  if (tasks_[current_.task].outputs[output].type == ElementType::kF32)
    return compare_floats(output, right, report);
  const uint8_t* outputs = arena_ + right.draw * current_.layout.bytes;
  const auto* got = reinterpret_cast<const int32_t*>(outputs + current_.layout.outputs[output].offset);
  const at::Tensor& expected = right.expected[output];
  const Comparison found = compare_i32(got, expected.const_data_ptr<int64_t>(), expected.numel());
  if (found.wrong > 0)
    report = report_i32(got, expected.const_data_ptr<int64_t>(), expected.numel(), 0,
                        filled(output, right).data());
  return found;
}

OracleReply Oracle::compare(const OracleRequest& request) {
  if (request.draw < 0 || request.draw >= int64_t(current_.inputs.size())) {
    throw ConfigError("draw {} of {}", request.draw, current_.inputs.size());
  }
  Right right{request.draw, {request.fill_key, request.fill_call}, right_outputs(request.draw), std::nullopt};
  OracleReply reply;
  reply.status = OracleStatus::kOk;
  for (size_t output = 0; output < right.expected.size(); ++output) {
    const Comparison found = compare_output(output, right, reply.report.output[output]);
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

void Oracle::prove_influence(size_t task) const {
  const Task& asked = tasks_[task];
  const auto draw = [&](int32_t shape, uint64_t seed) {
    return draw_tensors(task, shape_of(task, shape), asked.magnitudes[0], kFixedSeed + seed);
  };
  check_influence(asked, {draw, [&](const auto& inputs) { return references_[task].wide(inputs); }});
}

}  // namespace temper::env
