#include "env/admission/eager_time.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "env/admission/gpu_admission.h"
#include "env/gpu/oracle_process.h"

namespace temper::env {
namespace {

constexpr int kWarmCalls = 3, kGpuCalls = 20;

double least_eager_us(GpuOracleProcess& oracle, uint32_t task, int32_t shape) {
  double least = 0;
  for (int call = 0; call < kWarmCalls + kGpuCalls; ++call) {
    const double us = oracle.baseline(task, {{.shape = shape, .seed = uint64_t(call) + 1}}).baseline_us[0];
    if (call == kWarmCalls || (call > kWarmCalls && us < least)) least = us;
  }
  return least;
}

void weigh_time(Admission& row, const Task& task, size_t timed, double eager_us) {
  if (timed == 0) row.eager_us = eager_us;
  const std::string words = timed_words(task, timed);
  const double floor_us = timed == 0 ? row.floor_us : h200_floor_us(task, timed);
  if (eager_us < kLeastEager_us)
    row.problems.push_back(
        fmt::format("eager takes {:.1f} us at {}; at least {} is needed", eager_us, words, kLeastEager_us));
  if (eager_us < floor_us)
    row.problems.push_back(
        fmt::format("eager takes {:.1f} us at {}, less than the {:.1f} us of bytes and flops", eager_us,
                    words, floor_us));
}

class EagerTimes {
 public:
  EagerTimes(int gpu, const std::vector<Task>& tasks, std::vector<Admission>& rows,
             const std::function<void()>& timed)
      : gpu_(gpu), tasks_(tasks), rows_(rows), timed_(timed) {}

  // An oracle refuses all its tasks for the sake of one: halving finds that one.
  void time(const std::vector<size_t>& some) {
    std::vector<Task> tasks;
    for (const size_t row : some) tasks.push_back(tasks_[row]);
    std::optional<GpuOracleProcess> oracle;
    try {
      oracle.emplace((executable_dir() / "temper-gpu-oracle").string(), gpu_, tasks);
      oracle->wait_ready();
    } catch (const ConfigError& error) {
      oracle.reset();
      return some.size() == 1 ? refuse(some[0], error.what()) : halve(some);
    }
    for (size_t i = 0; i < some.size(); ++i) time_one(*oracle, uint32_t(i), some[i]);
  }

 private:
  void time_one(GpuOracleProcess& oracle, uint32_t task, size_t row) {
    try {
      for (size_t timed = 0; timed < tasks_[row].timed_count(); ++timed)
        weigh_time(rows_[row], tasks_[row], timed, least_eager_us(oracle, task, timed_number(timed)));
    } catch (const TaskTooLarge& error) {
      return refuse(row, error.what());
    }
    timed_();
  }

  void halve(const std::vector<size_t>& some) {
    const auto middle = some.begin() + ptrdiff_t(some.size() / 2);
    time({some.begin(), middle});
    time({middle, some.end()});
  }

  void refuse(size_t row, const std::string& why) {
    const std::string prefix = fmt::format("task {}, ", tasks_[row].name);
    rows_[row].problems.push_back(why.starts_with(prefix) ? why.substr(prefix.size()) : why);
    timed_();
  }

  int gpu_;
  const std::vector<Task>& tasks_;
  std::vector<Admission>& rows_;
  const std::function<void()>& timed_;
};

}  // namespace

void time_eager(int gpu, const std::vector<Task>& tasks, std::vector<Admission>& rows,
                const std::function<void()>& timed) {
  std::vector<size_t> fair;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].problems.empty())
      fair.push_back(row);
    else
      timed();
  }
  if (!fair.empty()) EagerTimes(gpu, tasks, rows, timed).time(fair);
}

}  // namespace temper::env
