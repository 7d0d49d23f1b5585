#include "env/broker/module_gpu_lane.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/machine/lease.h"
#include "env/box/core_lease.h"
#include "env/kernelbench/module_memory.h"

namespace temper::env {
namespace {

constexpr int64_t kSparesBesideLanes = 2;
constexpr double kMemoryShare = 0.92;  // of a GPU that nobody else uses

bool is_module(const Task& task) { return task.module.has_value(); }

std::string device_of_modules() {
  const char* told = std::getenv("TEMPER_MODULE_DEVICE");
  return told != nullptr && std::string(told) == "cpu" ? "cpu" : "cuda";
}

}  // namespace

bool all_modules(const std::vector<Task>& tasks) {
  const auto module = std::ranges::find_if(tasks, is_module);
  const auto other = std::ranges::find_if_not(tasks, is_module);
  if (module != tasks.end() && other != tasks.end())
    throw ConfigError("tasks.path: '{}' is a task in {} and '{}' one in {}; judge them in runs of their own",
                      module->name, module->language, other->name, other->language);
  return module != tasks.end();
}

ModuleGpuLane::ModuleGpuLane(const LaneSetup& setup)
    : setup_(setup), box_(module_box_options(setup.python, setup.huggingface)) {
  options_.budget = std::chrono::nanoseconds(int64_t(setup.module_timeout_s * 1e9));
  options_.warm_up = std::chrono::nanoseconds(int64_t(setup.module_warm_up_s * 1e9));
  options_.min_pairs = setup.min_pairs;
  options_.max_pairs = setup.max_pairs;
  options_.naive = setup.naive;
  options_.comparable_share = setup.compared;
  options_.believe_shares = setup.believe_shares;
  options_.compare_refused = setup.compare_refused;
  machine_ = find_module_machine(box_.python, device_of_modules(), setup.gpu);
  box_.device = machine_.device;
  box_.gpu_uuid = machine_.device == "cpu" ? "" : machine_.uuid;
  box_.nodes = machine_.nodes;
  box_.lanes = setup.gpu_lanes;
  box_.memory_bytes = std::max(box_.memory_bytes, setup.memory_mb << 20);
  box_.user = lane_user();
  take_short_turns();
  turns_.emplace(machine_.uuid);
  start_bench();
  bench_->wait_ready();
}

LaneReady ModuleGpuLane::ready() const {
  return {.machine = fmt::format("{} driver {}", machine_.name, machine_.driver), .gpu_uuid = machine_.uuid};
}

LaneAnswer ModuleGpuLane::judge(const LaneRequest& request) {
  try {
    const auto candidate = module_candidate_from(request.source);
    if (!candidate) throw WorldError("a candidate arrived damaged");
    const Task& task = setup_.tasks.at(request.task);
    const Fd held = lease(machine_.uuid, LeaseKind::kShared);  // not while the GPU trains
    if (!bench_) start_bench();
    LaneAnswer answer{ModuleProcedure(options_, machine_, *bench_, task).judge(*candidate)};
    if (machine_.device != "cpu") answer.verdict.gpu = machine_.name;
    return answer;
  } catch (const ProblemUnusable& e) {
    return {unusable_problem(e.what())};
  } catch (const std::exception& e) {
    bench_.reset();  // whatever failed, the next candidate starts with fresh processes
    return {infra(e.what())};
  }
}

void ModuleGpuLane::start_bench() {
  bench_.emplace(
      box_, setup_.gpu_lanes > 1 ? kSparesBesideLanes : kModuleSpares, &*turns_,
      setup_.gpu_bytes > 0 ? setup_.gpu_bytes : int64_t(double(machine_.memory_bytes) * kMemoryShare));
}

void ModuleGpuLane::idle() {
  try {
    if (bench_ && turns_->memory_is_wanted()) bench_->close();
  } catch (const std::exception&) {
    bench_.reset();
  }
}

void ModuleGpuLane::prepare() {
  try {
    if (bench_) bench_->prepare();
  } catch (const std::exception&) {
    bench_.reset();  // said by the next candidate's verdict, if it lasts
  }
}

}  // namespace temper::env
