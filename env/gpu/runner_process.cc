#include "env/gpu/runner_process.h"

#include <sys/socket.h>

#include <algorithm>

#include "base/error.h"
#include "env/box/execute.h"
#include "env/box/wire.h"

namespace temper::env {
namespace {

constexpr std::chrono::milliseconds kRunnerStart{60'000};
constexpr int64_t kMostCandidates = 200;

}  // namespace

GpuRunnerProcess::GpuRunnerProcess(const GpuRunnerOptions& options) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw system_error("create a socket pair");
  socket_ = Fd(pair[0]);
  const Fd theirs(pair[1]);
  const Fd memory = sealed_memory("candidate", kMaxCandidateBytes);
  memory_ = Mapping(memory.get(), kMaxCandidateBytes);
  std::vector<std::string> argv{options.program, std::to_string(options.gpu),
                                std::to_string(options.exchange_bytes)};
  if (options.profiling) argv.push_back("profile");
  process_ = start_gpu_program(argv, {"CUDA_MODULE_LOADING=EAGER", "CUDA_CACHE_DISABLE=1"},
                               {theirs.get(), memory.get(), options.exchange});
}

const GpuFactsWire& GpuRunnerProcess::wait_ready() {
  if (ready_) return gpu_;
  const auto reply = receive_wire<GpuRunnerReply>(socket_.get(), 0, kRunnerStart);
  if (!reply) throw WorldError("the GPU runner does not start");
  if (reply->status != GpuRunnerStatus::kOk) throw WorldError("the GPU runner: {}", text_of(reply->error));
  gpu_ = reply->gpu;
  ready_ = true;
  return gpu_;
}

std::optional<GpuRunnerReply> GpuRunnerProcess::exchange(GpuRunnerRequest& request,
                                                         std::chrono::nanoseconds patience) {
  start(request);
  return answer(patience);
}

void GpuRunnerProcess::start(GpuRunnerRequest& request) {
  started_ = process_.running() && send_wire(socket_.get(), request, ++sequence_);
}

std::optional<GpuRunnerReply> GpuRunnerProcess::answer(std::chrono::nanoseconds patience) {
  using std::chrono::milliseconds;
  if (!std::exchange(started_, false)) return std::nullopt;
  const auto wait = std::max(milliseconds(1), std::chrono::ceil<milliseconds>(patience));
  return receive_wire<GpuRunnerReply>(socket_.get(), sequence_, wait);
}

void GpuRunnerProcess::hand_over(const std::vector<std::string>& cubins,
                                 const std::vector<std::string>& plans, GpuRunnerRequest& request) {
  TEMPER_CHECK(cubins.size() <= size_t(kMaxPlanCubins) && plans.size() <= size_t(kMaxPlans), "{} and {}",
               cubins.size(), plans.size());
  int64_t at = 0;
  const auto put = [&](const std::string& part) {
    TEMPER_CHECK(int64_t(part.size()) <= memory_.bytes() - at, "a candidate of more than {} bytes",
                 memory_.bytes());
    std::copy(part.begin(), part.end(), memory_.data() + at);
    at += int64_t(part.size());
    return int64_t(part.size());
  };
  for (const std::string& cubin : cubins) {
    at = std::min(aligned(at, kCubinAlign), memory_.bytes());
    request.cubin_bytes[request.cubins++] = put(cubin);
  }
  for (const std::string& plan : plans) request.plan_bytes[request.plans++] = put(plan);
}

std::optional<GpuRunnerReply> GpuRunnerProcess::load(const std::vector<std::string>& cubins,
                                                     const std::vector<std::string>& plans,
                                                     std::chrono::nanoseconds patience) {
  start_load(cubins, plans);
  return answer(patience);
}

void GpuRunnerProcess::start_load(const std::vector<std::string>& cubins,
                                  const std::vector<std::string>& plans) {
  GpuRunnerRequest request;
  request.op = GpuRunnerOp::kLoad;
  hand_over(cubins, plans, request);
  start(request);
}

std::optional<GpuRunnerReply> GpuRunnerProcess::profile(GpuRunnerRequest request,
                                                        std::chrono::nanoseconds patience) {
  request.op = GpuRunnerOp::kProfile;
  request.call[0].plan = 0;
  return exchange(request, patience);
}

std::optional<GpuRunnerReply> GpuRunnerProcess::call(GpuRunnerRequest request,
                                                     std::chrono::nanoseconds patience) {
  request.op = GpuRunnerOp::kCall;
  return exchange(request, patience);
}

std::optional<GpuRunnerReply> GpuRunnerProcess::repeat(GpuRunnerRequest request,
                                                       std::chrono::nanoseconds patience) {
  request.op = GpuRunnerOp::kRepeat;
  return exchange(request, patience);
}

void GpuRunnerProcess::start_unload() {
  GpuRunnerRequest request;
  request.op = GpuRunnerOp::kUnload;
  start(request);
}

std::optional<GpuRunnerReply> GpuRunnerProcess::unload(std::chrono::nanoseconds patience) {
  if (!started_) start_unload();
  return answer(patience);
}

GpuRunnerRequest calls_of(const Task& task, const std::vector<GpuDraw>& draws) {
  TEMPER_CHECK(draws.size() <= size_t(kMaxBatch), "{}", draws.size());
  GpuRunnerRequest request;
  for (const GpuDraw& draw : draws) {
    GpuCall& call = request.call[request.calls++];
    call.plan = plan_number(task, draw.shape);
    call.seal = seal_of(draw);
    for (const DrawSpec& spec : draw_specs(task, draw)) call.input[call.inputs++] = spec;
    call.fill = fill_of(draw);
    call.placement = draw.placement;
    for (const int64_t bytes : buffer_bytes(task.outputs, shape_of(task, draw.shape))) {
      call.output_type[call.outputs] = task.outputs[size_t(call.outputs)].type;
      call.output_bytes[call.outputs++] = bytes;
    }
  }
  return request;
}

GpuRunnerProcess& GpuRunnerPool::runner() {
  if (!current_) {
    current_ = std::exchange(spare_, std::nullopt);
    if (!current_) current_.emplace(options_);
  }
  try {
    current_->wait_ready();
  } catch (...) {
    current_.reset();
    throw;
  }
  return *current_;
}

void GpuRunnerPool::discard() {
  current_.reset();
  candidates_ = 0;
}

// After a verdict, not in it: to end a context takes longer than most verdicts.
void GpuRunnerPool::prepare() {
  if (candidates_ >= kMostCandidates) discard();
  if (!current_) current_ = std::exchange(spare_, std::nullopt);
  if (!current_) current_.emplace(options_);
  if (!spare_) spare_.emplace(options_);
}

}  // namespace temper::env
