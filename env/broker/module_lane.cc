#include "env/broker/module_lane.h"

#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "env/kernelbench/module_candidate.h"
#include "env/languages/language.h"
#include "env/verdict/source_gate.h"

namespace temper::env {

namespace {

constexpr int64_t kBuildBytes = int64_t(8) << 30;
constexpr double kBuild_s = 180;

// "90a" of "sm_90a".
std::string architecture_of(const LaneSetup& setup) {
  const std::string name = target_of(setup).architecture;
  return name.starts_with("sm_") ? name.substr(3) : name;
}

// KernelBench would have said that it does not compile.
LaneAnswer refused(const Finding& why, double ms) {
  LaneAnswer answer{verdict_of(why)};
  Verdict& verdict = answer.verdict;
  verdict.compile_ms = verdict.total_ms = ms;
  verdict.comparable =
      ComparableResult{.error_name = "RuntimeError", .error = verdict.message, .traceback = verdict.details};
  return answer;
}

ModuleBoxOptions build_options(const LaneSetup& setup) {
  ModuleBoxOptions options = module_box_options(setup.python, setup.huggingface);
  options.memory_bytes = std::max(kBuildBytes, setup.memory_mb << 20);
  options.user = lane_user();
  return options;
}

// A file that includes torch's headers takes nvcc most of a minute on a busy core.
std::chrono::nanoseconds build_time(const LaneSetup& setup) {
  return std::chrono::nanoseconds(int64_t(std::max(setup.compile_timeout_s, kBuild_s) * 1e9));
}

}  // namespace

ModuleLane::ModuleLane(const LaneSetup& setup)
    : setup_(setup),
      options_(build_options(setup)),
      gate_(options_),
      builder_(options_, build_time(setup), setup.headers) {}

LaneReady ModuleLane::ready() const {
  return {.level = sandbox_level(::geteuid() == 0),
          .gpu_compilers = {{kKernelBench.name, description(options_.python)}}};
}

LaneAnswer ModuleLane::judge(const LaneRequest& request) {
  try {
    if (const Found rejected = gate_source(kKernelBench, request.source)) return refused(*rejected, 0);
    // What is refused costs neither compiling nor a GPU, unless its comparable verdict is asked for.
    if (!setup_.compare_refused)
      if (const Found rejected = gate_.refusal(request.source)) return {verdict_of(*rejected)};
    const Task& task = setup_.tasks.at(request.task);
    ModuleBuilt built = builder_.build(task, request.source, architecture_of(setup_));
    if (built.failure) return refused(*built.failure, built.ms);
    LaneAnswer answer;
    answer.prepared = to_bytes(ModuleCandidate{request.source, std::move(built.extensions), built.ms});
    if (answer.prepared.size() > kMaxModuleBytes)
      return refused({VerdictKind::kFailCompile, "compile_quota", "its libraries are too large"}, built.ms);
    return answer;
  } catch (const std::exception& e) {
    return {infra(e.what())};
  }
}

void ModuleLane::prepare() {
  try {
    gate_.prepare();
    builder_.prepare();
  } catch (
      const std::exception& e) {  // as far as boxes are concerned, the next candidate's verdict says it, too
    fmt::print(stderr, "extensions of modules are not prepared for, which takes longer: {}\n", e.what());
  }
}

}  // namespace temper::env
