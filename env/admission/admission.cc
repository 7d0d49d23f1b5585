#include "env/admission/admission.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/files.h"
#include "env/box/oracle_process.h"

namespace temper {
namespace {

constexpr int32_t kEagerCalls = 50;

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

double least_eager_us(OracleProcess& oracle, uint32_t task) {
  DrawRequest request{.task = task, .shape = -1, .count = kMaxDraws, .seed = task + 1};
  oracle.draw(request);
  oracle.begin_serving();
  const double null_us = double(oracle.null_call_time().count()) * 1e-3;
  std::vector<double> times;
  for (int32_t call = 0; call < kEagerCalls; ++call) {
    times.push_back(double(oracle.baseline(call % kMaxDraws).count()) * 1e-3);
  }
  oracle.end_serving();
  return *std::min_element(times.begin(), times.end()) - null_us;
}

void judge_trivial_solvers(Judge& judge, std::vector<Admission>& rows) {
  std::map<Ticket, std::pair<size_t, std::string>> solvers;  // → row, name
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const auto& solver : trivial_solvers(judge.tasks()[i])) {
      solvers[judge.submit(rows[i].task, solver.source)] = {i, solver.name};
    }
  }
  while (judge.pending() > 0) {
    for (const auto& [ticket, verdict] : judge.poll(std::chrono::milliseconds(100))) {
      if (verdict.kind == VerdictKind::kFailIncorrect) continue;
      const auto& [row, name] = solvers.at(ticket);
      rows[row].problems.push_back(
          fmt::format("the trivial solver {} gets {} {}", name, to_string(verdict.kind), verdict.message));
    }
  }
}

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

std::vector<Admission> admit(Judge& judge) {
  std::vector<Admission> rows;
  for (const auto& task : judge.tasks()) rows.emplace_back().task = task.name;
  judge_trivial_solvers(judge, rows);
  OracleProcess oracle((executable_dir() / "temper-oracle").string(), judge.tasks());
  oracle.wait_ready();
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].eager_us = least_eager_us(oracle, uint32_t(i));
    if (rows[i].eager_us >= kLeastEager_us) continue;
    rows[i].problems.push_back(fmt::format("eager takes {:.1f} us at the timed shape; at least {} is needed",
                                           rows[i].eager_us, kLeastEager_us));
  }
  return rows;
}

}  // namespace temper
