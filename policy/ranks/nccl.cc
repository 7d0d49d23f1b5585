// The one file that knows NCCL. Never blocks inside it: communicators are non-blocking, and a wait looks at errors and
// the clock.
//
// Streams. A call runs on a stream of its own, which all groups of a process share. It begins when what the caller's
// stream holds is done (an event that the shared stream waits for), and its end is an event that whoever needs the
// result waits for. Two groups' calls thus never run at once, and run in the same order on all ranks, which NCCL wants
// of communicators that share GPUs.
//
// Source: NCCL's user guide, "Fault tolerance": a failed operation never completes, ncclCommGetAsyncError tells,
// ncclCommAbort ends it while no other thread is inside NCCL on that communicator.

#include "policy/ranks/nccl.h"

#include <c10/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <exception>
#include <mutex>
#include <utility>

#include "base/process.h"
#include "policy/ranks/activity.h"

namespace temper::policy {
namespace {

using c10::cuda::CUDAEvent;
using c10::cuda::CUDAStream;

ncclDataType_t type_of(Number number) {
  return number == Number::kF64 ? ncclFloat64 : number == Number::kF32 ? ncclFloat32 : ncclBfloat16;
}

// The communicator of a group, which two threads use: the one that starts calls, and the one that looks at them.
class NcclGroup {
 public:
  NcclGroup(int rank, int size, const std::function<std::string(std::string)>& from_first, double deadline_s)
      : rank_(rank), size_(size) {
    ncclUniqueId id{};
    if (rank == 0) check(ncclGetUniqueId(&id), "make an id");
    const std::string bytes = from_first(std::string(id.internal, sizeof id.internal));
    bytes.copy(id.internal, sizeof id.internal);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    check(ncclCommInitRankConfig(&comm_, size, id, rank, &config), "connect the GPUs");
    settle("connect the GPUs", deadline_s);
  }

  int rank() const { return rank_; }

  // Makes a call of NCCL, and returns when NCCL has taken it in. The first call between two ranks connects them, which
  // waits for the other one.
  template <class Call>
  void begin(const std::string& what, double deadline_s, const Call& call) {
    {
      const std::scoped_lock lock(mutex_);
      throw_if_gone();
      check(call(comm_), what);
    }
    settle(what, deadline_s);
  }

  // Errors: LostRanks if NCCL has seen one, or if it was aborted.
  bool in_progress(const std::string& what) {
    const std::scoped_lock lock(mutex_);
    throw_if_gone();
    ncclResult_t state = ncclSuccess;
    check(ncclCommGetAsyncError(comm_, &state), what);
    check(state, what);
    return state == ncclInProgress;
  }

  // Aborted, not destroyed: that would wait for ranks that may be gone. Kernels that wait for them end. Not under the
  // lock, because it waits for them.
  void abort() {
    ncclComm_t comm = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      comm = std::exchange(comm_, nullptr);
    }
    if (comm) ncclCommAbort(comm);
  }

 private:
  void settle(const std::string& what, double deadline_s) {
    const double begin_s = now_s();
    for (int64_t tries = 0; in_progress(what); ++tries) {
      rest_between_looks(tries);
      if (now_s() - begin_s > deadline_s)
        throw LostRanks("rank {} of {}: NCCL did not {} within {:.0f} s", rank_, size_, what, deadline_s);
    }
  }

  void throw_if_gone() const {
    if (comm_) return;
    const std::string why = failed_call();
    throw LostRanks("{}", why.empty() ? "NCCL was ended" : why);
  }

  // In progress is how a non-blocking call begins.
  void check(ncclResult_t result, const std::string& what) {
    if (result == ncclSuccess || result == ncclInProgress) return;
    throw LostRanks("rank {} of {}: NCCL cannot {}: {} ({})", rank_, size_, what, ncclGetErrorString(result),
                    ncclGetLastError(comm_));
  }

  const int rank_, size_;
  std::mutex mutex_;
  ncclComm_t comm_ = nullptr;
};

class NcclCall : public StartedCall {
 public:
  NcclCall(std::shared_ptr<NcclGroup> group, const Collective& call)
      : group_(std::move(group)),
        text_(fmt::format("do the {} \"{}\"", to_string(call.operation), call.what)) {}

  State state() override {
    try {
      group_->in_progress(text_);
      return done.query() ? State::kDone : begun.query() ? State::kRunning : State::kQueued;
    } catch (const c10::Error& e) {
      throw WorldError("the GPU failed: {}", e.what_without_backtrace());
    }
  }
  void wait_on_stream() override { done.block(c10::cuda::getCurrentCUDAStream()); }
  void give_up() override { group_->abort(); }
  const std::string& text() const { return text_; }

  // On the shared stream, in front of the call and behind it. Recorded before any other thread sees the call.
  CUDAEvent begun, done;

 private:
  std::shared_ptr<NcclGroup> group_;
  std::string text_;
};

// What all groups of this process share.
struct NcclDevice {
  // The stream has high priority, so that a collective call gets its few thread blocks onto the GPU before the next
  // blocks of a matrix product that runs at the same time.
  CUDAStream stream = c10::cuda::getStreamFromPool(true);
  // It asks for events while another thread may capture a graph, which a thread of the default mode must not.
  StartedCalls calls{[device = c10::cuda::current_device()] {
    c10::cuda::set_device(device);
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
  }};
};

class NcclTransport : public GpuTransport {
 public:
  NcclTransport(std::shared_ptr<NcclDevice> device, int rank, int size,
                const std::function<std::string(std::string)>& from_first)
      : device_(std::move(device)), group_(std::make_shared<NcclGroup>(rank, size, from_first, deadline_s)) {}

  // What other ranks still need of this one must not end with it.
  ~NcclTransport() override {
    try {
      if (std::uncaught_exceptions() == 0 && failed_call().empty()) device_->calls.wait_for_all();
    } catch (const std::exception&) {  // then there is nothing to wait for
    }
    group_->abort();
  }

  std::shared_ptr<StartedCall> start(const Collective& c) override {
    const auto call = std::make_shared<NcclCall>(group_, c);
    const CUDAStream& stream = device_->stream;
    CUDAEvent ready;
    ready.record(c10::cuda::getCurrentCUDAStream());
    ready.block(stream);
    call->begun.record(stream);
    group_->begin(call->text(), deadline_s,
                  [&](ncclComm_t comm) { return enqueue(c, comm, stream.stream()); });
    call->done.record(stream);
    device_->calls.add(call, to_string(c.operation), c.what, deadline_s);
    return call;
  }

  std::unique_ptr<GpuTransport> part(int rank, int size,
                                     const std::function<std::string(std::string)>& from_first) override {
    auto part = std::make_unique<NcclTransport>(device_, rank, size, from_first);
    part->deadline_s = deadline_s;
    return part;
  }

  void wait_for_all() override { device_->calls.wait_for_all(); }

 private:
  ncclResult_t enqueue(const Collective& c, ncclComm_t comm, cudaStream_t stream) const {
    const auto count = size_t(c.count);
    const ncclDataType_t type = type_of(c.number);
    char* const share = static_cast<char*>(c.data) + group_->rank() * c.count * bytes_of(c.number);
    switch (c.operation) {
      case Operation::kAllReduce:
        return ncclAllReduce(c.data, c.data, count, type, ncclSum, comm, stream);
      case Operation::kReduceScatter:
        return ncclReduceScatter(c.data, c.sum ? c.sum : share, count, type, ncclSum, comm, stream);
      case Operation::kAllGather:
        return ncclAllGather(share, c.data, count, type, comm, stream);
      case Operation::kBroadcast:
        return ncclBroadcast(c.data, c.data, count, type, c.root, comm, stream);
    }
    return ncclInvalidArgument;
  }

  std::shared_ptr<NcclDevice> device_;
  std::shared_ptr<NcclGroup> group_;
};

}  // namespace

std::unique_ptr<GpuTransport> make_nccl_transport(
    int rank, int size, const std::function<std::string(std::string)>& from_rank_0) {
  return std::make_unique<NcclTransport>(std::make_shared<NcclDevice>(), rank, size, from_rank_0);
}

std::string nccl_version() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return "";
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

}  // namespace temper::policy
