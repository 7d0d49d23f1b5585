// The one file that knows NCCL. Never blocks inside it: calls return at once, and a wait looks at errors and
// the clock.
//
// Source: NCCL's user guide, "Fault tolerance": communicators are non-blocking, a failed operation never
// completes, ncclCommGetAsyncError tells, ncclCommAbort ends it.

#include "policy/ranks/nccl.h"

#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <thread>

#include "base/process.h"

namespace temper::policy {
namespace {

constexpr int kSpins = 1000;
constexpr auto kNap = std::chrono::microseconds(50);

ncclDataType_t type_of(Number number) {
  return number == Number::kF64 ? ncclFloat64 : number == Number::kF32 ? ncclFloat32 : ncclBfloat16;
}

class NcclTransport : public Transport {
 public:
  NcclTransport(int rank, int size, const std::function<std::string(std::string)>& from_rank_0)
      : rank_(rank), size_(size) {
    ncclUniqueId id{};
    if (rank == 0) check(ncclGetUniqueId(&id), "make an id");
    const std::string bytes = from_rank_0(std::string(id.internal, sizeof id.internal));
    bytes.copy(id.internal, sizeof id.internal);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    check(ncclCommInitRankConfig(&comm_, size, id, rank, &config), "connect the GPUs");
    settle("connect the GPUs");
  }

  // Aborted, not destroyed: that would wait for ranks that may be gone.
  ~NcclTransport() override {
    if (comm_) ncclCommAbort(comm_);
  }

  void all_reduce(void* data, int64_t count, Number number) override {
    run("all-reduce", [&](cudaStream_t stream) {
      return ncclAllReduce(data, data, size_t(count), type_of(number), ncclSum, comm_, stream);
    });
  }

  void reduce_scatter(void* whole, void* share, int64_t share_count, Number number) override {
    run("reduce-scatter", [&](cudaStream_t stream) {
      return ncclReduceScatter(whole, share, size_t(share_count), type_of(number), ncclSum, comm_, stream);
    });
  }

  void all_gather(void* whole, int64_t share_bytes) override {
    const char* share = static_cast<const char*>(whole) + rank_ * share_bytes;
    run("all-gather", [&](cudaStream_t stream) {
      return ncclAllGather(share, whole, size_t(share_bytes), ncclUint8, comm_, stream);
    });
  }

  void broadcast(void* data, int64_t bytes, int root) override {
    run("broadcast", [&](cudaStream_t stream) {
      return ncclBroadcast(data, data, size_t(bytes), ncclUint8, root, comm_, stream);
    });
  }

 private:
  // In progress is how a non-blocking call begins.
  void check(ncclResult_t result, const char* what) {
    if (result == ncclSuccess || result == ncclInProgress) return;
    throw LostRanks("rank {} of {}: NCCL cannot {}: {} ({})", rank_, size_, what, ncclGetErrorString(result),
                    ncclGetLastError(comm_));
  }

  // Until NCCL has taken the call in.
  void settle(const char* what) {
    wait(what, [&] {
      ncclResult_t state = ncclSuccess;
      check(ncclCommGetAsyncError(comm_, &state), what);
      check(state, what);
      return state == ncclSuccess;
    });
  }

  // And until the GPU has done it: whoever waits for the stream afterwards can no longer hang.
  template <class Start>
  void run(const char* what, const Start& start) {
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream().stream();
    check(start(stream), what);
    settle(what);
    wait(what, [&] {
      ncclResult_t state = ncclSuccess;
      check(ncclCommGetAsyncError(comm_, &state), what);
      check(state, what);
      const cudaError_t done = cudaStreamQuery(stream);
      if (done != cudaSuccess && done != cudaErrorNotReady)
        throw WorldError("the GPU failed in an {}: {}", what, cudaGetErrorString(done));
      return done == cudaSuccess;
    });
  }

  template <class Done>
  void wait(const char* what, const Done& done) {
    const double begin_s = now_s();
    for (int64_t tries = 0; !done(); ++tries) {
      if (tries > kSpins) std::this_thread::sleep_for(kNap);
      if (now_s() - begin_s > deadline_s)
        throw LostRanks("rank {} of {}: NCCL did not {} within {:.0f} s", rank_, size_, what, deadline_s);
    }
  }

  const int rank_, size_;
  ncclComm_t comm_ = nullptr;
};

}  // namespace

std::unique_ptr<Transport> make_nccl_transport(int rank, int size,
                                               const std::function<std::string(std::string)>& from_rank_0) {
  return std::make_unique<NcclTransport>(rank, size, from_rank_0);
}

std::string nccl_version() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return "";
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

}  // namespace temper::policy
