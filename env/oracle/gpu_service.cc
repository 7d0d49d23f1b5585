#include "env/oracle/gpu_service.h"

#include <ATen/Context.h>
#include <c10/core/InferenceMode.h>

#include <cstdlib>

#include "base/error.h"
#include "env/box/shared_memory.h"
#include "env/box/wire.h"
#include "env/gpu/descriptor.h"
#include "env/gpu/device/neighbours.h"
#include "env/oracle/gpu_oracle.h"
#include "env/task/task_json.h"

namespace temper::env {
namespace {

constexpr int kSocket = 3, kTasks = 4;
constexpr auto kForEver = std::chrono::milliseconds(-1);

std::vector<Task> inherited_tasks() {
  const Mapping text = map_whole(kTasks);
  return tasks_from_json({reinterpret_cast<const char*>(text.data()), size_t(text.bytes())});
}

void say(GpuOracleStatus status, std::string_view error = "") {
  GpuOracleReply reply;
  reply.status = status;
  error.copy(reply.error, sizeof reply.error - 1);
  send_wire(kSocket, reply, 0);
}

void run(int ordinal, at::Device device) {
  const std::string neighbours = gpu_neighbours(look_at_gpu(ordinal).uuid);
  const GpuFacts facts = enter_gpu(ordinal);
  // PyTorch's default for convolutions is TF32: an f32 task means f32.
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowTF32CuDNN(false);
  const c10::InferenceMode no_autograd;
  const std::vector<Task> tasks = inherited_tasks();
  const auto exchange = SharedGpuMemory::make(exchange_bytes(tasks));
  GpuOracle oracle(tasks, facts, exchange, device);
  say(GpuOracleStatus::kOk, neighbours);
  if (!send_descriptor(kSocket, exchange.descriptor().get())) return;
  GpuOracleRequest request;
  while (receive_packet(kSocket, &request, sizeof request, kForEver)) {
    if (request.header.magic != kProtocolMagic || request.header.version != kProtocolVersion) return;
    if (!send_wire(kSocket, oracle.answer(request), request.header.sequence)) return;
  }
}

}  // namespace

void serve_gpu_oracle(int ordinal, at::Device device) {
  try {
    run(ordinal, device);
  } catch (const ConfigError& error) {
    say(GpuOracleStatus::kUserError, error.what());
  } catch (const std::exception& error) {
    say(GpuOracleStatus::kError, std::string("the GPU oracle: ") + error.what());
  }
  std::_Exit(0);  // not by way of the driver's clean-up
}

}  // namespace temper::env
