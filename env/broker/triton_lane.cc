#include "env/broker/triton_lane.h"

#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/process.h"
#include "env/languages/language.h"
#include "env/plan/planner.h"
#include "env/verdict/source_gate.h"

namespace temper::env {
namespace {

TritonBoxOptions box_options(const LaneSetup& setup) {
  TritonBoxOptions options = triton_box_options(setup.python);
  options.wall = std::max(options.wall, std::chrono::milliseconds(int64_t(setup.compile_timeout_s * 1e3)));
  options.memory_bytes = std::max(options.memory_bytes, setup.memory_mb << 20);
  options.user = lane_user();
  return options;
}

}  // namespace

TritonLane::TritonLane(const LaneSetup& setup)
    : setup_(setup), target_(target_of(setup)), options_(box_options(setup)) {
  box_.emplace(options_);
  box_->wait_ready();
}

LaneReady TritonLane::ready() const {
  return {.level = sandbox_level(::geteuid() == 0),
          .gpu_compilers = {{kTriton.name, description(options_.python)}}};
}

LaneAnswer TritonLane::judge(const LaneRequest& request) {
  try {
    const Task& task = setup_.tasks.at(request.task);
    if (const Found rejected = gate_source(kTriton, request.source)) return {verdict_of(*rejected)};
    if (!box_) box_.emplace(options_);
    TritonReply reply = box_->plan(task, request.source, all_shapes(task), target_);
    return planned_answer(reply.failure, std::move(reply.cubins), reply.plans, reply.compile_ms,
                          reply.plan_ms);
  } catch (const std::exception& e) {
    box_.reset();  // whatever failed, the next candidate is judged in a new box
    return {infra(e.what())};
  }
}

// A box serves many candidates; only one that ended is made anew.
void TritonLane::prepare() {
  try {
    if (!box_) box_.emplace(options_);
  } catch (const std::exception&) {
    box_.reset();  // said by the next candidate's verdict, if it lasts
  }
}

}  // namespace temper::env
