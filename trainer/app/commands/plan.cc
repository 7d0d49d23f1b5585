#include "trainer/app/commands/plan.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "env/languages/language.h"
#include "env/plan/planner.h"

namespace temper::trainer {

using env::Planned;

namespace {

constexpr uid_t kUser = 65534;

Planned plan(const RunConfig& config, const env::Task& task, const std::string& source) {
  const env::GpuTarget target;
  env::CompileQuota quota = env::cuda_compile_quota();
  quota.wall = std::max(quota.wall, std::chrono::milliseconds(int64_t(config.env.compile_timeout_s * 1e3)));
  env::CudaToolchains tools(env::kCuda.compiler_flags, env::kCuda.entry_point, target.architecture);
  env::RecorderProcess recorder({.program = executable_dir() / "temper-recorder",
                                 .memory_bytes = config.env.memory_mb << 20,
                                 .user = kUser});
  return env::plan_candidate(task, source, env::all_shapes(task), tools, quota, kUser, target, recorder,
                             std::chrono::milliseconds(int64_t(config.env.run_timeout_s * 1e3)));
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

void print_text(const Planned& planned, const std::vector<env::Shape>& shapes) {
  for (size_t i = 0; i < planned.plans.size(); ++i) {
    fmt::print("{}{}\n", words_of(shapes[i]), i + 1 == shapes.size() ? " (timed)" : "");
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
  if (task.language != env::kCuda.name)
    throw ConfigError("judge --plan: task {} is {}; plans are of cuda tasks", task.name, task.language);
  const auto shapes = env::all_shapes(task);
  const Planned planned = plan(config, task, source);
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
    print_text(planned, shapes);
  return kExitOk;
}

}  // namespace temper::trainer
