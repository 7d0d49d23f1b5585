#include "env/broker/gpu_lane.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"

namespace temper {
namespace {

constexpr int kCapability = 90;

std::string program(const char* name) {
  const auto path = executable_dir() / name;
  if (!std::filesystem::exists(path))
    throw WorldError("tasks of language cuda need a Temper that was built with CUDA: there is no {}",
                     path.string());
  return path.string();
}

}  // namespace

GpuLane::GpuLane(const LaneSetup& setup) : setup_(setup) {
  options_.run_budget = std::chrono::nanoseconds(int64_t(setup.run_timeout_s * 1e9));
  options_.min_pairs = setup.min_pairs;
  options_.max_pairs = setup.max_pairs;
  start_oracle();
  gpu_ = runners_->runner().wait_ready();
  if (gpu_.capability != kCapability)
    throw WorldError("{} has compute capability {}.{}; candidates in CUDA are compiled for 9.0", gpu_.name,
                     gpu_.capability / 10, gpu_.capability % 10);
}

void GpuLane::start_oracle() {
  runners_.reset();
  oracle_.emplace(program("temper-gpu-oracle"), setup_.gpu, setup_.tasks);
  oracle_->wait_ready();
  runners_.emplace(
      GpuRunnerOptions{program("temper-gpu-runner"), setup_.gpu, oracle_->exchange(), oracle_->bytes()});
}

LaneReady GpuLane::ready() const {
  return {.level = "", .machine = fmt::format("{} driver {}", gpu_.name, gpu_.driver)};
}

LaneAnswer GpuLane::judge(const LaneRequest& request) {
  try {
    const auto candidate = gpu_candidate_from(request.source);
    if (!candidate) throw WorldError("a candidate arrived damaged");
    if (!oracle_) start_oracle();
    return {GpuProcedure(options_, gpu_, *oracle_, *runners_, setup_.tasks, request.task).judge(*candidate)};
  } catch (const std::exception& e) {
    oracle_.reset();  // whatever failed, the next candidate starts with fresh processes
    return {infra_verdict(e)};
  }
}

void GpuLane::prepare() {
  try {
    if (oracle_) runners_->prepare();
  } catch (const std::exception&) {
    oracle_.reset();  // said by the next candidate's verdict, if it lasts
  }
}

}  // namespace temper
