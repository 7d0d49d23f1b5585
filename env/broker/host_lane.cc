#include "env/broker/host_lane.h"

#include "env/broker/cpp_lane.h"
#include "env/broker/cuda_lane.h"

namespace temper::env {

HostLane::HostLane(const LaneSetup& setup) {
  LaneSetup cpp = setup, cuda = setup;
  std::erase_if(cpp.tasks, [](const Task& task) { return task.on_gpu(); });
  std::erase_if(cuda.tasks, [](const Task& task) { return !task.on_gpu(); });
  if (!cpp.tasks.empty()) cpp_ = std::make_unique<CppLane>(cpp);
  if (!cuda.tasks.empty()) cuda_ = std::make_unique<CudaLane>(cuda);
  uint32_t of_cpp = 0, of_cuda = 0;
  for (const Task& task : setup.tasks)
    places_.push_back(task.on_gpu() ? Place{cuda_.get(), of_cuda++} : Place{cpp_.get(), of_cpp++});
}

LaneReady HostLane::ready() const {
  LaneReady ready = (cpp_ ? cpp_ : cuda_)->ready();
  if (cpp_ && cuda_) ready.cuda_machine = cuda_->ready().cuda_machine;
  return ready;
}

LaneAnswer HostLane::judge(const LaneRequest& request) {
  const Place& place = places_.at(request.task);
  return place.work->judge({place.index, request.source, request.known});
}

void HostLane::prepare() {
  if (cpp_) cpp_->prepare();
  if (cuda_) cuda_->prepare();
}

}  // namespace temper::env
