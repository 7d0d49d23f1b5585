// temper-oracle: knows the secrets. Trusted; descriptors and messages as in env/call/protocol.h.

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <malloc.h>
#include <unistd.h>

#include <string_view>

#include "base/error.h"
#include "base/machine/surroundings.h"
#include "env/box/shared_memory.h"
#include "env/box/wire.h"
#include "env/call/handover.h"
#include "env/oracle/oracle.h"
#include "env/task/task_json.h"

namespace temper::env {
namespace {

constexpr int kSocket = 3, kArena = 4, kPage = 5, kTasks = 6;
constexpr auto kForEver = std::chrono::milliseconds(-1);

std::vector<Task> inherited_tasks() {
  const Mapping text = map_whole(kTasks);
  return tasks_from_json({reinterpret_cast<const char*>(text.data()), size_t(text.bytes())});
}

OracleReply status_reply(OracleStatus status, std::string_view error = "") {
  OracleReply reply;
  reply.status = status;
  error.copy(reply.error, sizeof reply.error - 1);
  return reply;
}

// Calls until kStopServing; a call after a failed one does nothing.
OracleReply serve(const Oracle& oracle, ControlPage& page) {
  OracleReply reply = status_reply(OracleStatus::kOk);
  for (uint32_t call = wait_for_call(page, 0); call != kStopServing; call = wait_for_call(page, call)) {
    std::vector<at::Tensor> outputs;
    try {
      if (!page.null_call && reply.status == OracleStatus::kOk) outputs = oracle.run_baseline(page.dim[0]);
    } catch (const std::exception& error) {
      reply = status_reply(OracleStatus::kError, error.what());
    }
    answer_call(page, call);
  }
  return reply;
}

void answer_requests(Oracle& oracle, ControlPage& page) {
  OracleRequest request;
  while (receive_packet(kSocket, &request, sizeof request, kForEver)) {
    if (request.header.magic != kProtocolMagic || request.header.version != kProtocolVersion) return;
    const bool served = request.op == OracleOp::kServe;
    if (!send_wire(kSocket, served ? serve(oracle, page) : oracle.answer(request), request.header.sequence))
      return;
  }
}

void run() {
  at::set_num_threads(1);
  // Freed memory stays ours: a baseline that pays for page faults would flatter every candidate.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const c10::InferenceMode no_autograd;
  const Mapping arena = map_whole(kArena), page = map_whole(kPage);
  Oracle oracle(inherited_tasks(), arena.data(), arena.bytes());
  if (!send_wire(kSocket, status_reply(OracleStatus::kOk), 0)) return;
  answer_requests(oracle, *reinterpret_cast<ControlPage*>(page.data()));
}

}  // namespace
}  // namespace temper::env

int main() {
  temper::begin_process();
  try {
    temper::env::run();
    return temper::kExitOk;
  } catch (const std::exception& error) {
    temper::env::send_wire(temper::env::kSocket,
                           temper::env::status_reply(temper::env::OracleStatus::kError, error.what()), 0);
    return temper::kExitWorld;
  }
}
