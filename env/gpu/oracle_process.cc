#include "env/gpu/oracle_process.h"

#include <sys/socket.h>

#include <algorithm>

#include "base/error.h"
#include "env/box/execute.h"
#include "env/box/shared_memory.h"
#include "env/box/wire.h"
#include "env/gpu/descriptor.h"
#include "env/task/task_json.h"

namespace temper::env {
namespace {

constexpr std::chrono::milliseconds kTimeout{60'000}, kOracleStart{110'000};

}  // namespace

GpuOracleProcess::GpuOracleProcess(const std::string& program, int gpu, const std::vector<Task>& tasks)
    : exchange_bytes_(temper::env::exchange_bytes(tasks)) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw system_error("create a socket pair");
  socket_ = Fd(pair[0]);
  const Fd theirs(pair[1]), list = memory_with("tasks", tasks_to_json(tasks));
  process_ = start_gpu_program({program, std::to_string(gpu)}, {"OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1"},
                               {theirs.get(), list.get()});
}

void GpuOracleProcess::wait_ready() {
  const auto reply = receive_wire<GpuOracleReply>(socket_.get(), 0, kOracleStart);
  if (!reply) throw WorldError("the GPU oracle does not start");
  if (reply->status == GpuOracleStatus::kUserError) throw ConfigError("{}", text_of(reply->error));
  if (reply->status != GpuOracleStatus::kOk) throw WorldError("{}", text_of(reply->error));
  neighbours_ = text_of(reply->error);
  exchange_ = receive_descriptor(socket_.get(), kTimeout);
  if (!exchange_) throw WorldError("the GPU oracle gives no memory");
}

GpuOracleReply GpuOracleProcess::ask(GpuOracleRequest request) {
  if (!send_wire(socket_.get(), request, ++sequence_)) throw WorldError("the GPU oracle is gone");
  const auto reply = receive_wire<GpuOracleReply>(socket_.get(), sequence_, kTimeout);
  if (!reply) throw WorldError("the GPU oracle does not answer");
  if (reply->status == GpuOracleStatus::kTaskTooLarge) throw TaskTooLarge("{}", text_of(reply->error));
  if (reply->status > GpuOracleStatus::kSealBroken)
    throw WorldError("the GPU oracle failed: {}", text_of(reply->error));
  return *reply;
}

namespace {

GpuOracleRequest about(uint32_t task, const std::vector<GpuDraw>& draws,
                       const std::vector<uint64_t>& digests = {}) {
  TEMPER_CHECK(draws.size() <= size_t(kMaxBatch), "{}", draws.size());
  GpuOracleRequest request;
  request.task = task;
  request.draws = int32_t(draws.size());
  std::ranges::copy(draws, request.draw);
  std::ranges::copy(digests, request.digest);
  return request;
}

}  // namespace

void GpuOracleProcess::settle(uint32_t task, Draws& draws) {
  GpuOracleRequest request = about(task, draws);
  request.settle = 1;
  const GpuOracleReply reply = ask(request);
  for (size_t i = 0; i < draws.size(); ++i) {
    std::ranges::copy(reply.kind[i], draws[i].kind);
    std::ranges::copy(reply.far[i], draws[i].far);
  }
}

GpuOracleReply GpuOracleProcess::baseline(uint32_t task, const Draws& draws) {
  GpuOracleRequest request = about(task, draws);
  request.baseline = 1;
  return ask(request);
}

GpuOracleReply GpuOracleProcess::compare(uint32_t task, const Draws& draws, const Digests& digests) {
  GpuOracleRequest request = about(task, draws, digests);
  request.compare = 1;
  return ask(request);
}

GpuOracleReply GpuOracleProcess::baseline_and_compare(uint32_t task, const Draws& draws,
                                                      const Digests& digests) {
  GpuOracleRequest request = about(task, draws, digests);
  request.baseline = request.compare = 1;
  return ask(request);
}

void GpuOracleProcess::give_away(uint32_t task, const GpuDraw& draw) {
  GpuOracleRequest request = about(task, {draw});
  request.give_away = 1;
  ask(request);
}

bool GpuOracleProcess::allclose(uint32_t task, const GpuDraw& draw) {
  GpuOracleRequest request = about(task, {draw});
  request.allclose = 1;
  return ask(request).status == GpuOracleStatus::kOk;
}

double GpuOracleProcess::warm_baseline(uint32_t task, const GpuDraw& draw) {
  GpuOracleRequest request = about(task, {draw});
  request.warm = 1;
  return ask(request).baseline_us[0];
}

}  // namespace temper::env
