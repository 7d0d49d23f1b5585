// temper-broker: one lane of a judge. On descriptor 3 it first receives the tasks and limits (env/judge/lane_messages.h), and
// then one candidate after another.

#include <poll.h>

#include <memory>

#include "base/error.h"
#include "base/machine/lease.h"
#include "base/machine/messages.h"
#include "base/machine/surroundings.h"
#include "env/box/core_lease.h"
#include "env/broker/gpu_lane.h"
#include "env/broker/host_lane.h"
#include "env/broker/module_gpu_lane.h"
#include "env/judge/lane_messages.h"

namespace temper::env {
namespace {

constexpr int kSocket = 3;
constexpr int kIdle_ms = 100;

std::unique_ptr<LaneJudge> work_of(const LaneSetup& setup) {
  if (setup.gpu >= 0 && all_modules(setup.tasks)) return std::make_unique<ModuleGpuLane>(setup);
  if (setup.gpu >= 0) return std::make_unique<GpuLane>(setup);
  pin_to_core(setup.core);
  // A folder in which locks cannot be made is reported at the start, with its path, and not for each candidate.
  check_core_locks(setup.core);
  return std::make_unique<HostLane>(setup);
}

std::unique_ptr<LaneJudge> start(const std::string& setup) {
  LaneReady ready;
  std::unique_ptr<LaneJudge> work;
  try {
    work = work_of(lane_setup_from(setup));
    ready = work->ready();
  } catch (const ConfigError& e) {
    ready = {.error = e.what(), .user_error = true};
  } catch (const std::exception& e) {
    ready = {.error = e.what()};
  }
  if (!send_message(kSocket, to_text(ready)) || !ready.error.empty()) work.reset();
  return work;
}

// Tells the judge that this lane is alive while it waits for something that another process holds.
void tell_judge(const LeaseWait& wait) {
  send_message(kSocket,
               to_text(LaneAnswer{.waits = fmt::format("{:.0f} {}, which is held by {}", wait.waited_s(),
                                                       wait.part(), wait.holder())}));
}

int run() {
  const auto setup = receive_message(kSocket);
  if (!setup) return kExitOk;
  const auto work = start(*setup);
  if (!work) return kExitWorld;
  listen_to_leases(tell_judge);
  for (;;) {
    for (pollfd socket{kSocket, POLLIN, 0}; ::poll(&socket, 1, kIdle_ms) == 0;) work->idle();
    const auto message = receive_message(kSocket);
    if (!message) return kExitOk;
    if (!send_message(kSocket, to_text(work->judge(lane_request_from(*message))))) return kExitOk;
    work->prepare();
  }
}

}  // namespace
}  // namespace temper::env

int main() {
  temper::begin_process();
  try {
    return temper::env::run();
  } catch (const std::exception& e) {
    fmt::print(stderr, "temper-broker: {}\n", e.what());
    return temper::kExitWorld;
  }
}
