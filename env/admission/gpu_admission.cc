#include "env/admission/gpu_admission.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/machine/child_process.h"
#include "base/machine/cores.h"
#include "base/machine/messages.h"
#include "env/admission/eager_time.h"
#include "env/procedure/gpu_procedure.h"
#include "env/task/task_json.h"

namespace temper::env {
namespace {

constexpr std::chrono::minutes kPatience{10};  // for a task
constexpr size_t kTriersOnGpu = 12;            // their draws take longer than the GPU; several GB each

// A process that tries tasks; `rows` are those that it was given.
class Trier {
 public:
  explicit Trier(int gpu)
      : process_(Subprocess::start({(executable_dir() / "temper-admission").string(), std::to_string(gpu)})),
        on_gpu_(receive().at("device") == "gpu") {}

  bool on_gpu() const { return on_gpu_; }

  void give(const std::vector<Task>& tasks, std::vector<size_t> rows, int64_t most_elements,
            int64_t mutant_draws) {
    std::vector<Task> mine;
    for (const size_t row : rows) mine.push_back(tasks[row]);
    const nlohmann::json request{
        {"tasks", tasks_to_json(mine)}, {"most_elements", most_elements}, {"mutant_draws", mutant_draws}};
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
    row.mutants = result.at("mutants").get<std::vector<MutantFate>>();
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
    const bool eager = on_gpu && options_.eager;
    if (eager) all_ *= 2;
    count(0);
    const size_t most = on_gpu ? kTriersOnGpu : processes();
    while (triers.size() < std::min(most, processes())) triers.emplace_back(options_.gpu);
    deal(triers, on_gpu ? options_.most_elements_on_gpu : options_.most_elements);
    collect(triers);
    triers.clear();
    if (eager) time_eager(options_.gpu, tasks_, rows_, [&] { count(1); });
    return std::move(rows_);
  }

 private:
  size_t processes() const {
    const int64_t asked = options_.processes > 0 ? options_.processes : allowed_core_count();
    return std::clamp<size_t>(size_t(asked), 1, tasks_.size());
  }

  void deal(std::vector<Trier>& triers, int64_t most_elements) {
    for (size_t i = 0; i < triers.size(); ++i) {
      std::vector<size_t> rows;
      for (size_t row = i; row < tasks_.size(); row += triers.size()) rows.push_back(row);
      triers[i].give(tasks_, std::move(rows), most_elements, options_.mutant_draws);
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

double h200_floor_us(const Task& task, size_t timed) {
  GpuFactsWire gpu;  // nominal figures
  gpu.multiprocessors = 132;
  gpu.l2_bytes = 50 << 20;
  gpu.bytes_per_s = 4.8e12;
  gpu.clock_hz = 1.98e9;
  return gpu_floor_us(task, gpu, timed);
}

std::vector<Admission> admit_gpu_tasks(const GpuAdmissionOptions& options, const std::vector<Task>& tasks,
                                       const AdmissionProgress& progress) {
  if (tasks.empty()) return {};
  return GpuAdmittance(options, tasks, progress).run();
}

}  // namespace temper::env
