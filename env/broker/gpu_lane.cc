#include "env/broker/gpu_lane.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "env/box/core_lease.h"
#include "env/box/wire.h"

namespace temper::env {
namespace {

constexpr int kCapability = 90;
constexpr double kIdle_s = 0.2;

std::string program(const char* name) {
  const auto path = executable_dir() / name;
  if (!std::filesystem::exists(path))
    throw WorldError("tasks for GPUs need a Temper that was built with CUDA: {} is missing", path.string());
  return path.string();
}

}  // namespace

GpuLane::GpuLane(const LaneSetup& setup) : setup_(setup) {
  options_.run_budget = std::chrono::nanoseconds(int64_t(setup.run_timeout_s * 1e9));
  options_.min_pairs = setup.min_pairs;
  options_.max_pairs = setup.max_pairs;
  options_.naive = setup.naive;
  options_.far_inputs = setup.gpu_far_inputs;
  take_short_turns();
  start_oracle();
  gpu_ = runners_->runner().wait_ready();
  if (gpu_.capability != kCapability)
    throw WorldError("{} has compute capability {}.{}; candidates in CUDA are compiled for 9.0", gpu_.name,
                     gpu_.capability / 10, gpu_.capability % 10);
  no_profile_ = profiler_->missing();
  neighbours_ = oracle_->neighbours();
}

void GpuLane::start_oracle() {
  runners_.reset();
  profiler_.reset();
  oracle_.emplace(program("temper-gpu-oracle"), setup_.gpu, setup_.tasks);
  oracle_->wait_ready();
  const GpuRunnerOptions options{program("temper-gpu-runner"), setup_.gpu, oracle_->exchange(),
                                 oracle_->bytes()};
  runners_.emplace(options);
  profiler_.emplace(options);
}

LaneReady GpuLane::ready() const {
  LaneReady ready{.machine = fmt::format("{} driver {}", gpu_.name, gpu_.driver),
                  .gpu_uuid = text_of(gpu_.uuid)};
  ready.gpu_target = {reinterpret_cast<const uint8_t*>(&gpu_.target),
                      reinterpret_cast<const uint8_t*>(&gpu_.target + 1)};
  if (!no_profile_.empty()) {
    ready.machine += ", no profile";
    ready.notes.push_back(fmt::format("no profile of CUDA candidates: {}", no_profile_));
  }
  if (!neighbours_.empty())
    ready.notes.push_back(fmt::format("{} computes on {}, too: times are not as sure as alone, see `noise`",
                                      neighbours_, text_of(gpu_.uuid)));
  return ready;
}

LaneAnswer GpuLane::judge(const LaneRequest& request) {
  try {
    const auto candidate = gpu_candidate_from(request.source);
    if (!candidate) throw WorldError("a candidate arrived damaged");
    if (!oracle_) start_oracle();
    const GpuProcesses processes{*oracle_, *runners_, &*profiler_, now_s() - judged_s_ > kIdle_s};
    LaneAnswer answer{GpuProcedure(options_, gpu_, processes, setup_.tasks, request.task).judge(*candidate)};
    answer.verdict.gpu = gpu_.name;
    judged_s_ = now_s();
    return answer;
  } catch (const TaskTooLarge& e) {
    return {infra(e.what())};
  } catch (const std::exception& e) {
    oracle_.reset();  // whatever failed, the next candidate starts with fresh processes
    return {infra(e.what())};
  }
}

void GpuLane::prepare() {
  try {
    if (!oracle_) return;
    runners_->prepare();
    profiler_->prepare();
  } catch (const std::exception&) {
    oracle_.reset();  // said by the next candidate's verdict, if it lasts
  }
}

}  // namespace temper::env
