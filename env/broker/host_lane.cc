#include "env/broker/host_lane.h"

#include "base/error.h"
#include "env/broker/cpp_lane.h"
#include "env/broker/cuda_lane.h"
#include "env/broker/module_lane.h"
#include "env/broker/triton_lane.h"

namespace temper::env {
namespace {

Form form_of(const Task& task) { return find_language(task.language).form; }

std::unique_ptr<LaneJudge> make_lane(Form form, const LaneSetup& setup) {
  switch (form) {
    case Form::kObject:
      return std::make_unique<CppLane>(setup);
    case Form::kCudaUnit:
      return std::make_unique<CudaLane>(setup);
    case Form::kPython:
      return std::make_unique<TritonLane>(setup);
    case Form::kModule:
      return std::make_unique<ModuleLane>(setup);
  }
  TEMPER_CHECK(false, "form {}", int(form));
}

}  // namespace

HostLane::HostLane(const LaneSetup& setup) {
  std::map<Form, uint32_t> counts;
  for (const Task& task : setup.tasks) places_.push_back({form_of(task), counts[form_of(task)]++});
  for (const auto& [form, count] : counts) start(form, setup);
}

void HostLane::start(Form form, const LaneSetup& setup) {
  LaneSetup own = setup;
  std::erase_if(own.tasks, [&](const Task& task) { return form_of(task) != form; });
  try {
    lanes_[form] = make_lane(form, own);
  } catch (const WorldError& e) {
    if (form != Form::kPython || own.tasks.size() == setup.tasks.size()) throw;
    no_triton_ = e.what();
    lanes_.erase(form);
  }
}

LaneReady HostLane::ready() const {
  LaneReady ready = lanes_.begin()->second->ready();
  for (const auto& [form, lane] : lanes_) ready.gpu_compilers.merge(lane->ready().gpu_compilers);
  if (!no_triton_.empty()) {
    ready.gpu_compilers[kTriton.name] = "none";
    ready.notes.push_back("candidates in Triton cannot be judged: " + no_triton_);
  }
  return ready;
}

LaneAnswer HostLane::judge(const LaneRequest& request) {
  const Place& place = places_.at(request.task);
  const auto lane = lanes_.find(place.form);
  if (lane == lanes_.end()) return {infra(no_triton_)};
  return lane->second->judge({place.index, request.source, request.known});
}

void HostLane::prepare() {
  for (const auto& [form, lane] : lanes_) lane->prepare();
}

}  // namespace temper::env
