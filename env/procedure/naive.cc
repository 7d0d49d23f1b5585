#include "env/procedure/naive.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "env/box/core_lease.h"
#include "env/procedure/judging.h"

namespace temper::env {
namespace {

constexpr double kTolerance = 1e-2;  // relative and absolute
constexpr int kTimedCalls = 9, kEmptyNaiveCalls = 15;

// A call takes some time, whatever the hand-over took: this judge does not look whether it was one.
double call_us(std::chrono::nanoseconds time) {
  constexpr double kLeastTime_us = 0.05;
  return std::max(microseconds(time), kLeastTime_us);
}

template <class Value>
Value value_at(const uint8_t* data, int64_t index) {
  Value value;
  std::memcpy(&value, data + index * int64_t(sizeof value), sizeof value);
  return value;
}

bool is_close(float got, float expected) {
  if (std::isnan(expected) || std::isinf(expected))
    return std::isnan(expected) ? std::isnan(got) : got == expected;
  return std::abs(got - expected) <= kTolerance + kTolerance * std::abs(expected);
}

bool all_close(const uint8_t* got, const uint8_t* expected, const Buffer& output, ElementType type) {
  got += output.offset, expected += output.offset;
  if (type == ElementType::kI32) return std::memcmp(got, expected, size_t(output.bytes)) == 0;
  for (int64_t i = 0; i < output.bytes / int64_t(sizeof(float)); ++i)
    if (!is_close(value_at<float>(got, i), value_at<float>(expected, i))) return false;
  return true;
}

class Naive {
 public:
  Naive(OracleProcess& oracle, RunnerProcess& runner, const Task& task)
      : oracle_(oracle),
        runner_(runner),
        task_(task),
        layout_(case_layout(task, task.timed_shape)),
        arguments_(arguments_of(task, task.timed_shape, layout_)) {}

  NaiveVerdict judge(const ProcedureOptions& options, uint32_t task_index, const std::string& object) {
    runner_.wait_ready();
    const auto empty = least_wall(runner_.null_calls());
    std::string detail;
    if (!runner_.load(object, options.run_budget, detail).empty()) return {};
    draw(task_index);
    if (!runner_.call(arguments_).empty() || !right()) return {};
    const double baseline = baseline_us(), candidate = candidate_us(empty);
    return naive_of_times(candidate, baseline);
  }

 private:
  // Inputs, and the reference's result where the candidate is to write its own.
  void draw(uint32_t task_index) {
    oracle_.draw({.task = task_index, .seed = secret_seed()});
    oracle_.write_reference(0);
    for (const auto* buffers : {&layout_.inputs, &layout_.outputs})
      for (const Buffer& buffer : *buffers)
        std::memcpy(runner_.arena() + buffer.offset, oracle_.arena() + buffer.offset, size_t(buffer.bytes));
  }

  bool right() const {
    for (size_t i = 0; i < layout_.outputs.size(); ++i)
      if (!all_close(runner_.arena(), oracle_.arena(), layout_.outputs[i], task_.outputs[i].type))
        return false;
    return true;
  }

  double baseline_us() {
    std::vector<double> times;
    oracle_.begin_serving();
    const auto empty = least_wall(oracle_.null_calls(kEmptyNaiveCalls));
    for (int i = 0; i < kTimedCalls; ++i) times.push_back(call_us(oracle_.baseline(0).wall - empty));
    oracle_.end_serving();
    return median(times);
  }

  double candidate_us(std::chrono::nanoseconds empty) {  // 0: a call failed
    std::vector<double> times;
    for (int i = 0; i < kTimedCalls; ++i) {
      if (!runner_.call(arguments_).empty()) return 0;
      times.push_back(call_us(runner_.call_time().wall - empty));
    }
    return median(times);
  }

  OracleProcess& oracle_;
  RunnerProcess& runner_;
  const Task& task_;
  CallLayout layout_;
  CallArguments arguments_;
};

}  // namespace

NaiveVerdict naive_verdict(const ProcedureOptions& options, OracleProcess& oracle, RunnerProcess& runner,
                           const Task& task, uint32_t task_index, const std::string& object) {
  const CoreLease lease(options.core);
  return Naive(oracle, runner, task).judge(options, task_index, object);
}

}  // namespace temper::env
