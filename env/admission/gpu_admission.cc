#include "env/admission/gpu_admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "env/broker/gpu_procedure.h"
#include "env/cuda/gpu_oracle_process.h"
#include "env/task_json.h"

namespace temper {
namespace {

constexpr int kWarmCalls = 3, kEagerCalls = 20;
constexpr std::chrono::minutes kPatience{10};  // for a task

// A process that tries tasks; `rows` are those that it was given.
class Trier {
 public:
  explicit Trier(int gpu)
      : process_(Subprocess::start({(executable_dir() / "temper-admission").string(), std::to_string(gpu)})),
        on_gpu_(receive().at("device") == "gpu") {}

  bool on_gpu() const { return on_gpu_; }

  void give(const std::vector<Task>& tasks, std::vector<size_t> rows, int64_t most_elements) {
    std::vector<Task> mine;
    for (const size_t row : rows) mine.push_back(tasks[row]);
    const nlohmann::json request{{"tasks", tasks_to_json(mine)}, {"most_elements", most_elements}};
    if (!send_message(process_.socket(), request.dump())) throw WorldError("temper-admission is gone");
    rows_ = std::move(rows);
  }

  // The next row of its list, filled in; nothing after the last one.
  bool answer(std::vector<Admission>& rows) {
    if (answered_ == rows_.size()) return false;
    Admission& row = rows[rows_[answered_++]];
    const auto result = receive();
    row.problems = result.at("problems").get<std::vector<std::string>>();
    row.allowed = result.at("allowed").get<double>();
    row.timed = result.at("timed").get<bool>();
    return true;
  }

 private:
  nlohmann::json receive() {
    const auto message = receive_message(process_.socket(), kPatience);
    if (!message) throw WorldError("temper-admission ended or does not answer");
    auto answer = nlohmann::json::parse(*message);
    if (answer.contains("error"))
      throw WorldError("temper-admission: {}", answer["error"].get<std::string>());
    return answer;
  }

  Subprocess process_;
  bool on_gpu_;
  std::vector<size_t> rows_;
  size_t answered_ = 0;
};

double least_eager_us(GpuOracleProcess& oracle, uint32_t task) {
  double least = 0;
  for (int call = 0; call < kWarmCalls + kEagerCalls; ++call) {
    const double us = oracle.baseline(task, {.seed = uint64_t(call) + 1});
    if (call == kWarmCalls || (call > kWarmCalls && us < least)) least = us;
  }
  return least;
}

class GpuAdmittance {
 public:
  GpuAdmittance(const GpuAdmissionOptions& options, const std::vector<Task>& tasks,
                const AdmissionProgress& progress)
      : options_(options), tasks_(tasks), progress_(progress), all_(int64_t(tasks.size())) {
    for (const Task& task : tasks) {
      Admission& row = rows_.emplace_back();
      row.task = task.name;
      row.floor_us = h200_floor_us(task);
    }
  }

  std::vector<Admission> run() {
    std::vector<Trier> triers;
    triers.emplace_back(options_.gpu);
    const bool on_gpu = triers[0].on_gpu();
    if (on_gpu) all_ *= 2;
    count(0);
    if (!on_gpu)
      while (triers.size() < processes()) triers.emplace_back(options_.gpu);
    deal(triers, on_gpu ? options_.most_elements_on_gpu : options_.most_elements);
    collect(triers);
    triers.clear();
    if (on_gpu) time_eager();
    return std::move(rows_);
  }

 private:
  size_t processes() const {
    const size_t cores = std::max(1u, std::thread::hardware_concurrency());
    return std::clamp<size_t>(options_.processes > 0 ? size_t(options_.processes) : cores, 1, tasks_.size());
  }

  void deal(std::vector<Trier>& triers, int64_t most_elements) {
    for (size_t i = 0; i < triers.size(); ++i) {
      std::vector<size_t> rows;
      for (size_t row = i; row < tasks_.size(); row += triers.size()) rows.push_back(row);
      triers[i].give(tasks_, std::move(rows), most_elements);
    }
  }

  void collect(std::vector<Trier>& triers) {
    for (bool more = true; more;) {
      more = false;
      for (Trier& trier : triers) {
        if (!trier.answer(rows_)) continue;
        more = true;
        count(1);
      }
    }
  }

  void time_eager() {
    std::vector<size_t> fair;
    for (size_t row = 0; row < rows_.size(); ++row) {
      if (rows_[row].problems.empty())
        fair.push_back(row);
      else
        count(1);
    }
    if (!fair.empty()) time_some(fair);
  }

  // An oracle refuses all its tasks for the sake of one: halving finds that one.
  void time_some(const std::vector<size_t>& rows) {
    std::vector<Task> tasks;
    for (const size_t row : rows) tasks.push_back(tasks_[row]);
    std::optional<GpuOracleProcess> oracle;
    try {
      oracle.emplace((executable_dir() / "temper-gpu-oracle").string(), options_.gpu, tasks);
      oracle->wait_ready();
    } catch (const ConfigError& error) {
      if (rows.size() == 1) return refuse(rows[0], error.what());
      const auto middle = rows.begin() + ptrdiff_t(rows.size() / 2);
      oracle.reset();
      time_some({rows.begin(), middle});
      return time_some({middle, rows.end()});
    }
    for (size_t i = 0; i < rows.size(); ++i, count(1))
      weigh_time(rows_[rows[i]], least_eager_us(*oracle, uint32_t(i)));
  }

  void refuse(size_t row, const std::string& why) {
    rows_[row].problems.push_back(why);
    count(1);
  }

  static void weigh_time(Admission& row, double eager_us) {
    row.eager_us = eager_us;
    if (eager_us < kLeastEager_us)
      row.problems.push_back(fmt::format("eager takes {:.1f} us at the timed shape; at least {} is needed",
                                         eager_us, kLeastEager_us));
    if (eager_us < row.floor_us)
      row.problems.push_back(
          fmt::format("eager takes {:.1f} us, less than the {:.1f} us that bytes and flops ask for", eager_us,
                      row.floor_us));
  }

  void count(int64_t more) {
    done_ += more;
    if (progress_) progress_(done_, all_);
  }

  const GpuAdmissionOptions& options_;
  const std::vector<Task>& tasks_;
  const AdmissionProgress& progress_;
  std::vector<Admission> rows_;
  int64_t done_ = 0, all_;
};

}  // namespace

double h200_floor_us(const Task& task) {
  GpuFactsWire gpu;  // nominal figures
  gpu.multiprocessors = 132;
  gpu.l2_bytes = 50 << 20;
  gpu.bytes_per_s = 4.8e12;
  gpu.clock_hz = 1.98e9;
  return gpu_floor_us(task, gpu);
}

std::vector<Admission> admit_gpu_tasks(const GpuAdmissionOptions& options, const std::vector<Task>& tasks,
                                       const AdmissionProgress& progress) {
  if (tasks.empty()) return {};
  return GpuAdmittance(options, tasks, progress).run();
}

}  // namespace temper
