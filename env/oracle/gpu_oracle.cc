#include "env/oracle/gpu_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/rng.h"
#include "env/oracle/proof.h"
#include "env/oracle/tolerance.h"
#include "env/verdict/timing.h"

namespace temper::env {
namespace {

constexpr uint64_t kFixedSeed = 0x7E3;  // for what is measured once and no secret
constexpr double kNaive = 1e-2;         // of the naive judge, relative and absolute
constexpr int kWarmCalls = 10;
constexpr int64_t kAhead_cycles = 100'000;  // a host that is late by that shows in no baseline
constexpr double kQuick = 0.5;              // of the time that the baseline takes the GPU

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

CUdeviceptr address(const at::Tensor& tensor) { return CUdeviceptr(tensor.data_ptr()); }

Draws draws_of(const std::vector<DrawSpec>& specs, const std::vector<at::Tensor>& inputs) {
  Draws draws;
  for (const DrawSpec& spec : specs) {
    draws.spec[draws.count] = spec;
    draws.at[draws.count] = address(inputs[draws.count]);
    ++draws.count;
  }
  return draws;
}

// What a reference needs beside its buffers shows when it runs.
std::string no_room(const Task& task) {
  size_t free = 0, all = 0;
  TEMPER_GPU(cuMemGetInfo, &free, &all);
  return fmt::format("task {}: its reference needs more GPU memory than there is; {} of {} MiB are free",
                     task.name, free >> 20, all >> 20);
}

}  // namespace

GpuOracle::GpuOracle(std::vector<Task> tasks, const GpuFacts& facts, const SharedGpuMemory& exchange,
                     at::Device device)
    : device_(device),
      tasks_(std::move(tasks)),
      quick_(tasks_.size(), false),
      exchange_(exchange.data()),
      tools_(facts, nullptr) {
  for (CUevent* events : {begin_, end_})
    for (int call = 0; call < kMaxBatch; ++call) TEMPER_GPU(cuEventCreate, &events[call], CU_EVENT_DEFAULT);
  result_ = at::zeros({int64_t(sizeof(CompareResult))}, options(at::kByte));
  board_ = at::zeros({int64_t(sizeof(Board))}, options(at::kByte));
  for_each_task(tasks_.size(), [&](size_t i) { references_.emplace_back(tasks_[i]); });
  for (const Task& task : tasks_) refused_.push_back(too_large(task));
  for_each_task(tasks_.size(), [&](size_t i) { attempt(&GpuOracle::prove, i); });
  for_each_task(tasks_.size(), [&](size_t i) {
    if (!tasks_[i].generated()) attempt(&GpuOracle::prove_influence, i);
  });
}

// What runner and oracle hold at least at once: a call's buffers there, inputs and outputs here.
std::string GpuOracle::too_large(const Task& task) const {
  int64_t needed = 0;
  for (int32_t shape = first_shape(task); shape < int32_t(task.check_shapes.size()); ++shape) {
    const auto inputs = buffer_bytes(task.inputs, shape_of(task, shape));
    const auto outputs = buffer_bytes(task.outputs, shape_of(task, shape));
    int64_t bytes = gpu_layout(inputs, outputs, {}).bytes;
    for (const auto* buffers : {&inputs, &outputs})
      bytes = std::accumulate(buffers->begin(), buffers->end(), bytes);
    needed = std::max(needed, bytes);
  }
  size_t free = 0, all = 0;
  TEMPER_GPU(cuMemGetInfo, &free, &all);
  if (needed <= int64_t(free)) return "";
  return fmt::format("task {} needs {} MiB of GPU memory; {} of {} are free", task.name, needed >> 20,
                     free >> 20, all >> 20);
}

void GpuOracle::attempt(Proof proof, size_t task) {
  if (!refused_[task].empty()) return;
  try {
    (this->*proof)(task);
  } catch (const std::exception& error) {
    if (!memory_was_short(error)) throw;
    refused_[task] = no_room(tasks_[task]);
  }
}

GpuOracle::Tensors GpuOracle::drawn(const Task& task, const GpuDraw& draw) {
  return drawn(task, draw, draw_specs(task, draw));
}

GpuOracle::Tensors GpuOracle::drawn(const Task& task, const GpuDraw& draw,
                                    const std::vector<DrawSpec>& specs) {
  Tensors tensors;
  for (const TensorSpec& input : task.inputs)
    tensors.push_back(
        at::empty(tensor_sizes(input, shape_of(task, draw.shape)), options(dtype_of(input.type))));
  tools_.draw(draws_of(specs, tensors));
  return tensors;
}

bool GpuOracle::unchanged(const Task& task, const GpuDraw& draw, const Tensors& inputs) {
  const at::Tensor changed = at::zeros({1}, options(at::kInt));
  tools_.check_draws(draws_of(draw_specs(task, draw), inputs), address(changed));
  return changed.item<int>() == 0;
}

void GpuOracle::prove(size_t task) {
  const Task& asked = tasks_[task];
  for (int32_t shape = first_shape(asked); shape < int32_t(asked.check_shapes.size()); ++shape) {
    const GpuDraw fixed{.shape = shape, .magnitude = asked.magnitudes[0], .seed = kFixedSeed};
    const Tensors inputs = drawn(asked, fixed);
    Tensors outputs;
    try {
      outputs = references_[task](inputs);
    } catch (const std::exception& error) {
      throw ConfigError("task {}, reference: {}", asked.name, torch_words(error));
    }
    check_output_sizes(asked, shape_of(asked, shape), outputs);
    if (!unchanged(asked, fixed, inputs))
      throw ConfigError("task {}, reference: changes an input", asked.name);
  }
}

void GpuOracle::prove_influence(size_t task) {
  const Task& asked = tasks_[task];
  const auto draw = [&](int32_t shape, uint64_t seed) {
    return drawn(asked, {.shape = shape, .magnitude = asked.magnitudes[0], .seed = kFixedSeed + seed});
  };
  check_influence(asked, {draw, [&](const Tensors& inputs) { return expected(task, inputs); }});
}

GpuOracleReply GpuOracle::answer(const GpuOracleRequest& request) {
  GpuOracleReply reply;
  const auto refuse = [&](GpuOracleStatus status, const std::string& why) {
    reply.status = status;
    why.copy(reply.error, sizeof reply.error - 1);
  };
  try {
    if (request.task < tasks_.size() && !refused_[request.task].empty())
      refuse(GpuOracleStatus::kTaskTooLarge, refused_[request.task]);
    else
      carry_out(request, reply);
  } catch (const std::exception& error) {
    cases_.clear();
    if (memory_was_short(error))
      refuse(GpuOracleStatus::kTaskTooLarge, no_room(tasks_[request.task]));
    else
      refuse(GpuOracleStatus::kError, torch_words(error));
  }
  return reply;
}

void GpuOracle::carry_out(const GpuOracleRequest& request, GpuOracleReply& reply) {
  if (request.settle != 0) {
    settle(request, reply);
    reply.status = GpuOracleStatus::kOk;
    return;
  }
  draw(request);
  if (request.baseline != 0) time_baselines(reply);
  if (request.warm != 0) reply.baseline_us[0] = time_warm(cases_[0]);
  if (request.give_away != 0) give_away(cases_[0]);
  reply.status = GpuOracleStatus::kOk;
  if (request.compare != 0) compare(request.digest, reply);
  if (request.allclose != 0 && !allclose(cases_[0])) reply.status = GpuOracleStatus::kMismatch;
}

void GpuOracle::check_draws(const GpuOracleRequest& request) const {
  if (request.task >= tasks_.size()) throw ConfigError("task {} of {}", request.task, tasks_.size());
  if (request.draws < 1 || request.draws > kMaxBatch) throw ConfigError("{} draws", request.draws);
}

void GpuOracle::draw(const GpuOracleRequest& request) {
  check_draws(request);
  const auto same = [](const Case& drawn, const GpuDraw& draw) { return drawn.draw == draw; };
  const bool first_ones = request.task == task_ && request.draws <= std::ssize(cases_) &&
                          std::equal(cases_.begin(), cases_.begin() + request.draws, request.draw, same);
  cases_.resize(first_ones ? size_t(request.draws) : 0);
  if (first_ones) return;
  task_ = request.task;
  const Task& task = tasks_[task_];
  int64_t end = 0;
  for (int32_t i = 0; i < request.draws; ++i) {
    cases_.push_back({request.draw[i], end, drawn(task, request.draw[i]), {}});
    exchange_offsets(buffer_bytes(task.outputs, shape_of(task, request.draw[i].shape)), end);
  }
}

double GpuOracle::between_events(int call) const {
  float milliseconds = 0;
  TEMPER_GPU(cuEventElapsedTime, &milliseconds, begin_[call], end_[call]);
  return 1e3 * double(milliseconds);
}

// Each op as torch launches it in its stream, from C++: no interpreter of Python in between, no graph. One
// case behind the other, so that the host is ahead of the GPU; it stays ahead where launching is quick.
void GpuOracle::time_baselines(GpuOracleReply& reply) {
  std::vector<double> launched_us, took_us;
  for (size_t i = 0; i < cases_.size(); ++i) {
    const auto begin = Clock::now();
    cases_[i].baseline.clear();
    tools_.flush_l2();
    if (i == 0 || !quick_[task_]) tools_.wait(kAhead_cycles);
    TEMPER_GPU(cuEventRecord, begin_[i], nullptr);
    cases_[i].baseline = references_[task_](cases_[i].inputs);
    TEMPER_GPU(cuEventRecord, end_[i], nullptr);
    launched_us.push_back(microseconds(Clock::now() - begin));
  }
  TEMPER_GPU(cuStreamSynchronize, nullptr);
  for (size_t i = 0; i < cases_.size(); ++i) took_us.push_back(reply.baseline_us[i] = between_events(int(i)));
  if (median(launched_us) < kQuick * median(took_us)) quick_[task_] = true;
}

double GpuOracle::time_warm(Case& drawn) {
  drawn.baseline = references_[task_](drawn.inputs);
  TEMPER_GPU(cuEventRecord, begin_[0], nullptr);
  for (int call = 0; call < kWarmCalls; ++call) drawn.baseline = references_[task_](drawn.inputs);
  TEMPER_GPU(cuEventRecord, end_[0], nullptr);
  TEMPER_GPU(cuStreamSynchronize, nullptr);
  return between_events(0) / kWarmCalls;
}

// The runner copies it in a stream of its own: it must be there when it is told.
void GpuOracle::give_away(Case& drawn) {
  const Tensors& results = baseline(drawn);
  for (size_t output = 0; output < results.size(); ++output) exchanged(drawn, output).copy_(results[output]);
  TEMPER_GPU(cuStreamSynchronize, nullptr);
}

// torch.allclose(got, eager, rtol, atol, equal_nan=True), in double precision.
bool GpuOracle::allclose(Case& drawn) {
  const Tensors& results = baseline(drawn);
  bool close = true;
  for (size_t output = 0; output < results.size() && close; ++output) {
    const at::Tensor got = exchanged(drawn, output), wanted = results[output].to(got.scalar_type());
    close = got.is_floating_point()
                ? at::allclose(got.to(at::kDouble), wanted.to(at::kDouble), kNaive, kNaive, true)
                : got.equal(wanted);
  }
  return close;
}

const GpuOracle::Tensors& GpuOracle::baseline(Case& drawn) {
  if (drawn.baseline.empty()) drawn.baseline = references_[task_](drawn.inputs);
  return drawn.baseline;
}

// … as the task's outputs are.
GpuOracle::Tensors GpuOracle::results(Case& drawn) {
  Tensors results = baseline(drawn);
  for (size_t i = 0; i < results.size(); ++i)
    results[i] = results[i].to(dtype_of(tasks_[task_].outputs[i].type)).contiguous();
  return results;
}

GpuOracle::Tensors GpuOracle::in_widest(const std::function<Tensors(at::ScalarType type)>& compute) {
  try {
    return compute(at::kDouble);
  } catch (const std::exception&) {
    return compute(at::kFloat);
  }
}

GpuOracle::Tensors GpuOracle::expected(size_t task, const Tensors& inputs) const {
  return in_widest([&](at::ScalarType type) { return references_[task].wide(inputs, type); });
}

GpuOracle::Tensors GpuOracle::exact(const Case& drawn) {
  ++exact_;
  return expected(task_, drawn.inputs);
}

std::vector<double> GpuOracle::measure_scales(const ScaleKey& key) {
  const auto& [task, shape, magnitude] = key;
  return output_scales(tasks_[task], shape_of(tasks_[task], shape), [&](uint64_t draw) {
    const GpuDraw fixed{.shape = shape, .magnitude = magnitude, .seed = mix_key({kFixedSeed, draw})};
    return expected(task, drawn(tasks_[task], fixed));
  });
}

const std::vector<double>& GpuOracle::scales(const ScaleKey& key) {
  return scales_.of(key, [&] { return measure_scales(key); });
}

at::Tensor GpuOracle::exchanged(const Case& drawn, size_t output) const {
  const Task& task = tasks_[task_];
  const Shape& shape = shape_of(task, drawn.draw.shape);
  int64_t end = drawn.end_before;
  const auto offsets = exchange_offsets(buffer_bytes(task.outputs, shape), end);
  return at::from_blob(reinterpret_cast<void*>(exchange_ + CUdeviceptr(offsets[output])),
                       tensor_sizes(task.outputs[output], shape),
                       options(dtype_of(task.outputs[output].type)));
}

// Queues a first comparison. What is within the strict bound r of the baseline is right, too: it is off by no
// more than r + r e + e, e the baseline's own error, and r + 4 e is allowed. That costs less than the
// reference in double precision; where the baseline is not finite, that one is asked.
void GpuOracle::look_at(Case& drawn, CompareResult* found) {
  const bool near = (near_ || !drawn.draw.plain()) && !drawn.baseline.empty();
  const Tensors right = near ? results(drawn) : exact(drawn);
  for (size_t output = 0; output < right.size(); ++output) {
    CompareSpec spec = strict_spec(drawn, output);
    spec.all_finite = spec.narrow = near;
    tools_.compare(spec, address(exchanged(drawn, output)), address(right[output]),
                   CUdeviceptr(found + output));
  }
}

// All of them at once: to wait for each would take longer than most.
GpuOracle::Board GpuOracle::look_at_all() {
  board_.zero_();
  auto* const board = static_cast<Board*>(board_.data_ptr());
  for (size_t i = 0; i < cases_.size(); ++i) {
    look_at(cases_[i], board->result[i]);
    for (size_t output = 0; output < tasks_[task_].outputs.size(); ++output) {
      const at::Tensor got = exchanged(cases_[i], output);
      tools_.digest(seal_of(cases_[i].draw) + output, address(got), 0, int64_t(got.nbytes()),
                    CUdeviceptr(board->digest + i));
    }
  }
  Board seen;
  TEMPER_GPU(cuMemcpyDtoH, &seen, address(board_), sizeof seen);
  return seen;
}

void GpuOracle::compare(const uint64_t* digest, GpuOracleReply& reply) {
  exact_ = 0;
  if (cases_.front().baseline.empty()) near_ = true;  // what is checked is another candidate
  const Board seen = look_at_all();
  const auto inside = [](const CompareResult& result) { return result.wrong == 0; };
  for (size_t i = 0; i < cases_.size() && reply.status == GpuOracleStatus::kOk; ++i) {
    reply.draw = int32_t(i);
    if (seen.digest[i] != digest[i])
      reply.status = GpuOracleStatus::kSealBroken;
    else if (!std::ranges::all_of(seen.result[i], inside) && !compare(cases_[i], reply))
      reply.status = GpuOracleStatus::kMismatch;
  }
  reply.exact = exact_;
}

}  // namespace temper::env
