#include "env/box/oracle_process.h"

#include <sys/socket.h>

#include <algorithm>

#include "base/error.h"
#include "base/machine/child_process.h"
#include "env/box/clock.h"
#include "env/box/execute.h"
#include "env/box/wire.h"
#include "env/call/case.h"
#include "env/call/handover.h"
#include "env/task/task_json.h"

namespace temper::env {
namespace {

constexpr std::chrono::milliseconds kTimeout{60'000};

template <class Bytes>
int64_t most_of_shapes(const std::vector<Task>& tasks, Bytes bytes) {
  int64_t most = 0;
  for (const auto& task : tasks)
    for (const Shape& shape : all_shapes(task)) most = std::max(most, bytes(case_layout(task, shape)));
  return most;
}

}  // namespace

int64_t largest_case(const std::vector<Task>& tasks) {
  return most_of_shapes(tasks, [](const CallLayout& packed) { return packed.bytes; });
}

int64_t largest_laid_case(const std::vector<Task>& tasks) {
  return most_of_shapes(tasks, [](const CallLayout& packed) {
    return std::max(packed.bytes, apart(packed, Placement::kEndAtGap).bytes);
  });
}

OracleProcess::OracleProcess(const std::string& program, const std::vector<Task>& tasks) {
  require_program(program);
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw system_error("create a socket pair");
  socket_ = Fd(pair[0]);
  const Fd theirs(pair[1]);
  const int64_t arena_bytes = largest_case(tasks) * kDrawsAtOnce;
  const Fd arena = sealed_memory("arena", arena_bytes), page = sealed_memory("page", sizeof(ControlPage));
  const Fd task_list = memory_with("tasks", tasks_to_json(tasks));
  arena_ = Mapping(arena.get(), arena_bytes);
  page_ = Mapping(page.get(), sizeof(ControlPage));
  const auto environment = environment_with({"OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1"});
  const std::vector<int> descriptors{theirs.get(), arena.get(), page.get(), task_list.get()};
  process_ = BoxProcess::start([&] { return execute({program}, environment, descriptors, true); });
  watch_ = CallWatch(process_.pid());
}

void OracleProcess::wait_ready() {
  const auto reply = receive_wire<OracleReply>(socket_.get(), 0, kTimeout);
  if (!reply) throw WorldError("the oracle does not start");
  if (reply->status != OracleStatus::kOk) throw ConfigError("{}", text_of(reply->error));
}

OracleReply OracleProcess::await_reply() {
  const auto reply = receive_wire<OracleReply>(socket_.get(), sequence_, kTimeout);
  if (!reply) throw WorldError("the oracle does not answer");
  if (reply->status == OracleStatus::kError) throw WorldError("the oracle failed: {}", text_of(reply->error));
  return *reply;
}

OracleReply OracleProcess::exchange(OracleRequest request) {
  if (!send_wire(socket_.get(), request, ++sequence_)) throw WorldError("the oracle is gone");
  return await_reply();
}

void OracleProcess::draw(const DrawRequest& wanted) {
  TEMPER_CHECK(wanted.count >= 1 && wanted.count <= kDrawsAtOnce, "{}", wanted.count);
  OracleRequest request;
  request.op = OracleOp::kDraw;
  request.task = wanted.task;
  request.shape = wanted.shape;
  request.count = wanted.count;
  request.perturb = wanted.perturb;
  request.magnitude = wanted.magnitude;
  request.seed = wanted.seed;
  request.turn_key = wanted.turn.key;
  request.turn = wanted.turn.number;
  request.timed = wanted.turn.timed;
  exchange(request);
}

OracleReply OracleProcess::compare(int32_t draw, Fill fill) {
  OracleRequest request;
  request.op = OracleOp::kCompare;
  request.draw = draw;
  request.fill_key = fill.key;
  request.fill_call = fill.call;
  return exchange(request);
}

void OracleProcess::write_reference(int32_t draw) {
  OracleRequest request;
  request.op = OracleOp::kReference;
  request.draw = draw;
  exchange(request);
}

void OracleProcess::begin_serving() {
  page().go.store(0);
  number_ = 0;
  OracleRequest request;
  request.op = OracleOp::kServe;
  if (!send_wire(socket_.get(), request, ++sequence_)) throw WorldError("the oracle is gone");
}

CallTime OracleProcess::serve(uint32_t null_call, int32_t draw) {
  ControlPage& shared = page();
  shared.null_call = null_call;
  shared.dim[0] = draw;
  watch_.start();
  start_call(shared, ++number_);
  if (!wait_for_answer(shared, number_, kTimeout)) throw WorldError("the oracle does not answer");
  return watch_.stop();
}

CallTime OracleProcess::baseline(int32_t draw) { return serve(0, draw); }

std::vector<CallTime> OracleProcess::null_calls(int calls) {
  std::vector<CallTime> times;
  for (int i = 0; i < calls; ++i) times.push_back(serve(1, 0));
  return times;
}

void OracleProcess::end_serving() {
  start_call(page(), kStopServing);
  await_reply();
}

}  // namespace temper::env
