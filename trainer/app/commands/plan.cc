#include "trainer/app/commands/plan.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "env/languages/language.h"
#include "env/plan/planner.h"
#include "env/plan/triton/box.h"
#include "env/verdict/source_gate.h"

namespace temper::trainer {

namespace {

constexpr uid_t kUser = 65534;

// What came of a candidate, whatever its language.
struct Planned {
  env::Found failure;
  std::vector<env::LaunchPlan> plans;
  double compile_ms = 0, plan_ms = 0;
};

Planned plan_cuda(const RunConfig& config, const env::Task& task, const std::string& source) {
  const env::GpuTarget target;
  env::CompileQuota quota = env::cuda_compile_quota();
  quota.wall = std::max(quota.wall, std::chrono::milliseconds(int64_t(config.env.compile_timeout_s * 1e3)));
  env::CudaToolchains tools(env::kCuda.compiler_flags, env::kCuda.entry_point, target.architecture);
  env::RecorderProcess recorder({.program = executable_dir() / "temper-recorder",
                                 .memory_bytes = config.env.memory_mb << 20,
                                 .user = kUser});
  auto planned =
      env::plan_candidate(task, source, env::all_shapes(task), tools, quota, kUser, target, recorder,
                          std::chrono::milliseconds(int64_t(config.env.run_timeout_s * 1e3)));
  return {planned.failure, std::move(planned.plans), planned.compile_ms, planned.plan_ms};
}

Planned plan_triton(const RunConfig& config, const env::Task& task, const std::string& source) {
  if (env::Found rejected = env::gate_source(env::kTriton, source)) return {rejected, {}};
  env::TritonBox box(env::triton_box_options(config.env.python));
  auto reply = box.plan(task, source, env::all_shapes(task), {});
  return {reply.failure, std::move(reply.plans), reply.compile_ms, reply.plan_ms};
}

std::string words_of(const env::Shape& shape) {
  std::string words;
  for (const auto& [name, size] : shape)
    words += fmt::format("{}{}={}", words.empty() ? "" : " ", name, size);
  return words;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Those behind the check shapes are timed.
void print_text(const Planned& planned, const std::vector<env::Shape>& shapes, size_t checks) {
  for (size_t i = 0; i < planned.plans.size(); ++i) {
    fmt::print("{}{}\n", words_of(shapes[i]), i >= checks ? " (timed)" : "");
    for (const auto& line : lines_of(env::plan_text(planned.plans[i]))) fmt::print("  {}\n", line);
  }
  fmt::print("compile {:.0f} ms, plans {:.1f} ms\n", planned.compile_ms, planned.plan_ms);
}

nlohmann::json to_json(const Planned& planned, const std::vector<env::Shape>& shapes) {
  nlohmann::json plans = nlohmann::json::array();
  for (size_t i = 0; i < planned.plans.size(); ++i)
    plans.push_back({{"shape", shapes[i]},
                     {"workspace_bytes", planned.plans[i].workspace_bytes()},
                     {"plan", lines_of(env::plan_text(planned.plans[i]))}});
  return {{"plans", plans}, {"compile_ms", planned.compile_ms}, {"plan_ms", planned.plan_ms}};
}

}  // namespace

int run_plan(const RunConfig& config, const env::Task& task, const std::string& source, bool json) {
  if (task.module)
    throw ConfigError(
        "judge --plan: task {} is a problem in PyTorch; its answers run as they are, without a plan",
        task.name);
  if (!task.on_gpu())
    throw ConfigError("judge --plan: task {} is {}; plans are of tasks for GPUs", task.name, task.language);
  const auto shapes = env::all_shapes(task);
  const bool python = env::find_language(task.language).form == env::Form::kPython;
  const Planned planned = (python ? plan_triton : plan_cuda)(config, task, source);
  if (planned.failure) {
    const env::Verdict verdict = env::verdict_of(*planned.failure);
    if (json)
      fmt::print("{}\n", nlohmann::json{{"kind", env::to_string(verdict.kind)},
                                        {"reason", verdict.reason},
                                        {"message", verdict.message}}
                             .dump(2));
    else
      fmt::print("{} ({})\n{}\n", env::to_string(verdict.kind), verdict.reason, verdict.message);
    return kExitCandidateFailed;
  }
  if (json)
    fmt::print("{}\n", to_json(planned, shapes).dump(2));
  else
    print_text(planned, shapes, task.check_shapes.size());
  return kExitOk;
}

}  // namespace temper::trainer
