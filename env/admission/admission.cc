#include "env/admission/admission.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <future>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "env/admission/gpu_admission.h"
#include "env/box/core_lease.h"
#include "env/box/oracle_process.h"

namespace temper::env {
namespace {

constexpr int32_t kEagerCalls = 50, kEmptyCalls = 15;

std::string element_count(const TensorSpec& tensor) {
  return fmt::format("1L * {}", fmt::join(tensor.shape, " * "));
}

// A candidate that runs `body` on each output, with `out`, its element count `size`, and the first input `in`
// with `in_size`.
std::string on_each_output(const Task& task, const std::string& body) {
  std::string statements;
  for (const auto& output : task.outputs) {
    statements += fmt::format(
        "  {{\n    auto* out = {};\n    const long size = {}, in_size = {};\n    const auto* in = {};\n"
        "    {}\n  }}\n",
        output.name, element_count(output), element_count(task.inputs[0]), task.inputs[0].name, body);
  }
  return fmt::format("{} {{\n{}}}\n", task.signature(), statements);
}

double least_eager_us(OracleProcess& oracle, uint32_t task, int32_t shape) {
  DrawRequest request{.task = task, .shape = shape, .count = kDrawsAtOnce, .seed = task + 1};
  oracle.draw(request);
  oracle.begin_serving();
  const double null_us = double(least_wall(oracle.null_calls(kEmptyCalls)).count()) * 1e-3;
  std::vector<double> times;
  for (int32_t call = 0; call < kEagerCalls; ++call) {
    times.push_back(double(oracle.baseline(call % kDrawsAtOnce).wall.count()) * 1e-3);
  }
  oracle.end_serving();
  return *std::min_element(times.begin(), times.end()) - null_us;
}

OracleProcess start_oracle(const std::vector<Task>& tasks) {
  OracleProcess oracle((executable_dir() / "temper-oracle").string(), tasks);
  oracle.wait_ready();
  return oracle;
}

class Admittance {
 public:
  Admittance(const std::vector<Task>& tasks, const AdmissionProgress& progress)
      : tasks_(tasks), progress_(progress) {
    for (const Task& task : tasks) {
      rows_.emplace_back().task = task.name;
      all_ += steps_of(task);
    }
    count(0);
  }

  // An oracle refuses all its tasks for the sake of one: halving finds that one.
  void prove_references(size_t begin, size_t end) {
    try {
      start_oracle({tasks_.begin() + ptrdiff_t(begin), tasks_.begin() + ptrdiff_t(end)});
      for (size_t i = begin; i < end; ++i) sound_.push_back(i);
    } catch (const ConfigError& e) {
      if (end - begin == 1) {
        rows_[begin].problems.push_back(without_task(e.what(), tasks_[begin].name));
        return count(steps_of(tasks_[begin]));
      }
      const size_t middle = begin + (end - begin) / 2;
      prove_references(begin, middle);
      prove_references(middle, end);
    }
  }

  void try_trivial_solvers(const JudgeOptions& options) {
    Judge judge(options, sound_tasks());
    std::map<Ticket, std::pair<size_t, std::string>> solvers;  // → row, name
    for (const size_t row : sound_) {
      for (const auto& solver : trivial_solvers(tasks_[row])) {
        solvers[judge.submit(tasks_[row].name, solver.source)] = {row, solver.name};
      }
    }
    while (judge.pending() > 0) {
      for (const auto& [ticket, verdict] : judge.poll(std::chrono::milliseconds(100))) {
        const auto& [row, name] = solvers.at(ticket);
        weigh(rows_[row], name, verdict);
        count(1);
      }
    }
  }

  // On one core, as a judge does it: a hand-over between cores takes as long as a small call.
  void time_eager() {
    std::async(std::launch::async, [this] {
      const int core = ::sched_getcpu();
      pin_to_core(core);
      const CoreLease lease(core);
      time_eager_here();
    }).get();
  }

  void time_eager_here() {
    OracleProcess oracle = start_oracle(sound_tasks());
    for (size_t i = 0; i < sound_.size(); ++i, count(1)) {
      Admission& row = rows_[sound_[i]];
      const Task& task = tasks_[sound_[i]];
      for (size_t timed = 0; timed < task.timed_count(); ++timed) {
        const double eager_us = least_eager_us(oracle, uint32_t(i), timed_number(timed));
        if (timed == 0) row.eager_us = eager_us;
        if (eager_us >= kLeastEager_us) continue;
        row.problems.push_back(fmt::format("eager takes {:.1f} us at {}; at least {} is needed", eager_us,
                                           timed_words(task, timed), kLeastEager_us));
      }
    }
  }

  bool any_sound() const { return !sound_.empty(); }
  std::vector<Admission> take() { return std::move(rows_); }

 private:
  // The solvers, and eager.
  static int64_t steps_of(const Task& task) { return int64_t(trivial_solvers(task).size()) + 1; }

  static std::string without_task(const std::string& text, const std::string& name) {
    const std::string prefix = fmt::format("task {}, ", name);
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
  }

  static void weigh(Admission& row, const std::string& solver, const Verdict& verdict) {
    if (verdict.infra()) throw WorldError("task {}, solver {}: {}", row.task, solver, verdict.message);
    if (verdict.kind == VerdictKind::kFailIncorrect) return;
    row.problems.push_back(fmt::format("the trivial solver {} gets {}", solver, verdict.message));
  }

  std::vector<Task> sound_tasks() const {
    std::vector<Task> tasks;
    for (const size_t row : sound_) tasks.push_back(tasks_[row]);
    return tasks;
  }

  void count(int64_t more) {
    done_ += more;
    if (progress_) progress_(done_, all_);
  }

  const std::vector<Task>& tasks_;
  const AdmissionProgress& progress_;
  std::vector<Admission> rows_;
  std::vector<size_t> sound_;  // rows whose reference has been proved, in order
  int64_t done_ = 0, all_ = 0;
};

}  // namespace

std::vector<TrivialSolver> trivial_solvers(const Task& task) {
  return {
      {"nothing", on_each_output(task, "(void)out, (void)in, (void)size, (void)in_size;")},
      {"zeros", on_each_output(task, "for (long i = 0; i < size; ++i) out[i] = 0;")},
      {"ones", on_each_output(task, "for (long i = 0; i < size; ++i) out[i] = 1;")},
      {"input_copy", on_each_output(task, "for (long i = 0; i < size; ++i) out[i] = in[i % in_size];")},
      {"input_mean", on_each_output(task,
                                    "double sum = 0;\n    for (long i = 0; i < in_size; ++i) sum += in[i];\n"
                                    "    for (long i = 0; i < size; ++i) out[i] = sum / in_size;")},
  };
}

namespace {

std::vector<Admission> admit_cpu_tasks(const JudgeOptions& options, const std::vector<Task>& tasks,
                                       const AdmissionProgress& progress) {
  Admittance admittance(tasks, progress);
  if (!tasks.empty()) admittance.prove_references(0, tasks.size());
  if (admittance.any_sound()) {
    admittance.try_trivial_solvers(options);
    admittance.time_eager();
  }
  return admittance.take();
}

// Tasks on CPUs are small: their timed shapes are tried anywhere.
void try_mutants_on(const GpuAdmissionOptions& options, const std::vector<Task>& tasks,
                    std::vector<Admission>& rows, const AdmissionProgress& progress) {
  GpuAdmissionOptions all = options;
  all.most_elements = all.most_elements_on_gpu;
  all.eager = false;
  const auto tried = admit_gpu_tasks(all, tasks, progress);
  for (size_t i = 0; i < rows.size(); ++i) rows[i].mutants = tried[i].mutants;
}

void name_living_mutants(Admission& row, int64_t draws) {
  for (const MutantFate& fate : row.mutants) {
    if (!fate.lives()) continue;
    row.problems.push_back(fmt::format("the short-cut '{}' passes {} draws of the {}", fate.mutant, draws,
                                       fate.check_draw < 0 ? "check shapes" : "timed shape"));
  }
}

}  // namespace

std::vector<Admission> admit(const JudgeOptions& options, const std::vector<Task>& tasks,
                             const AdmissionProgress& progress, int64_t mutant_draws) {
  std::vector<Task> cpu, gpu;
  for (const Task& task : tasks) (task.on_gpu() ? gpu : cpu).push_back(task);
  const GpuAdmissionOptions gpu_options{
      .gpu = int(options.gpus.empty() ? options.first_gpu : options.gpus[0]), .mutant_draws = mutant_draws};
  auto cpu_rows = cpu.empty() ? std::vector<Admission>() : admit_cpu_tasks(options, cpu, progress);
  if (mutant_draws > 0) try_mutants_on(gpu_options, cpu, cpu_rows, progress);
  auto gpu_rows = admit_gpu_tasks(gpu_options, gpu, progress);
  std::vector<Admission> rows;
  auto next_cpu = cpu_rows.begin(), next_gpu = gpu_rows.begin();
  for (const Task& task : tasks) rows.push_back(std::move(*(task.on_gpu() ? next_gpu : next_cpu)++));
  for (Admission& row : rows) name_living_mutants(row, mutant_draws);
  return rows;
}

}  // namespace temper::env
