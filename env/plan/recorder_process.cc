#include "env/plan/recorder_process.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "env/box/clock.h"
#include "env/box/execute.h"
#include "env/box/wire.h"
#include "env/plan/recorder_reply.h"

namespace temper::env {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kReadyTimeout{20'000};
}  // namespace

RecorderProcess::RecorderProcess(const RecorderOptions& options) : options_(options) {
  if (!std::filesystem::exists(options.program))
    throw WorldError("{} is missing: Temper was built without CUDA; TEMPER_CUDA=ON tools/build builds it",
                     options.program);
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw system_error("create a socket pair");
  socket_ = Fd(pair[0]);
  const Fd theirs(pair[1]);
  const Fd arena = sealed_memory("plans", kRecorderArenaBytes);
  arena_ = Mapping(arena.get(), kRecorderArenaBytes);
  const std::vector<std::string> argv{options.program, std::to_string(options.memory_bytes),
                                      std::to_string(options.cpu_s), std::to_string(options.user)};
  const std::vector<int> descriptors{theirs.get(), arena.get()};
  process_ = BoxProcess::start([&] { return execute(argv, {"LC_ALL=C"}, descriptors, false); });
}

void RecorderProcess::wait_ready() {
  if (ready_) return;
  const auto reply = receive_wire<RecorderReply>(socket_.get(), 0, kReadyTimeout);
  if (!reply) throw WorldError("the recorder does not start ({})", death().reason);
  if (reply->status != RecorderStatus::kReady)
    throw WorldError("the sandbox cannot be made: {}", text_of(reply->detail));
  ready_ = true;
  user_dropped_ = reply->user_dropped != 0;
}

Found RecorderProcess::load(const std::string& object, const std::string& cubin, const GpuTarget& target,
                            nanoseconds budget) {
  budget_ = budget;
  target_ = target;
  if (const std::string problem = read_cubin(cubin, cubin_); !problem.empty())
    return Finding{VerdictKind::kFailCompile, "cubin", problem};
  TEMPER_CHECK(int64_t(object.size() + cubin.size()) <= arena_.bytes());
  std::copy(cubin.begin(), cubin.end(), std::copy(object.begin(), object.end(), arena_.data()));
  RecorderRequest request;
  request.op = RecorderOp::kLoad;
  request.object_bytes = int64_t(object.size());
  request.cubin_bytes = int64_t(cubin.size());
  request.workspace_bytes = options_.workspace_bytes;
  request.target = target;
  RecorderReply reply;
  return exchange(request, RecorderStatus::kLoaded, reply);
}

Found RecorderProcess::record(const PlanBuffers& buffers, const std::vector<int64_t>& dims,
                              LaunchPlan& plan) {
  TEMPER_CHECK(buffers.inputs.size() + buffers.outputs.size() <= size_t(kMaxTensors) &&
               dims.size() <= size_t(kMaxDims));
  RecorderRequest request;
  request.op = RecorderOp::kRecord;
  request.inputs = uint32_t(buffers.inputs.size());
  request.outputs = uint32_t(buffers.outputs.size());
  request.dims = uint32_t(dims.size());
  std::copy(buffers.outputs.begin(), buffers.outputs.end(),
            std::copy(buffers.inputs.begin(), buffers.inputs.end(), request.buffer_bytes));
  std::copy(dims.begin(), dims.end(), request.dim);
  RecorderReply reply;
  if (auto failure = exchange(request, RecorderStatus::kPlanned, reply)) return failure;
  const std::string_view arena(reinterpret_cast<const char*>(arena_.data()), size_t(arena_.bytes()));
  return plan_of(reply, arena, {buffers, cubin_, target_, options_.workspace_bytes}, plan);
}

Found RecorderProcess::exchange(RecorderRequest request, RecorderStatus wanted, RecorderReply& reply) {
  const nanoseconds start = raw_clock();
  if (!send_wire(socket_.get(), request, ++sequence_)) return death();
  const auto timeout = std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(budget_));
  const auto answer = receive_wire<RecorderReply>(socket_.get(), sequence_, timeout);
  budget_ -= raw_clock() - start;
  if (!answer) return death();
  if (answer->status == RecorderStatus::kFailed) return failure_of(*answer);
  if (answer->status != wanted) return no_plan("launch disturbed its recorder");
  reply = *answer;
  return std::nullopt;
}

// It gave no answer that can be understood.
Finding RecorderProcess::death() {
  if (budget_.count() <= milliseconds(1).count() * 1'000'000 && process_.running())
    return {VerdictKind::kFailTimeout, "timeout", "launch takes too long on the host"};
  const auto status = process_.wait(milliseconds(2000));
  if (!status) return no_plan("launch disturbed its recorder");
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 128 + SIGABRT)
    return {VerdictKind::kFailRuntime, fmt::format("signal_{}", SIGABRT), ""};
  if (WIFEXITED(*status)) return {VerdictKind::kFailRuntime, "exit", "launch ended its process"};
  return {VerdictKind::kFailRuntime, describe_wait_status(*status), ""};
}

}  // namespace temper::env
