#pragma once
// Collective operations of the ranks. All ranks make the same calls in the same order, from one thread. Each call
// has a name, so that a message about a rank that waits too long can say what it waits for. The calls made so far are
// kept as a digest, which the watch and same_calls() compare.
//
// Source: MPI's collectives; tensors go over NCCL where they are on a GPU, else over MPI or TCP.
// Errors of all: LostRanks.

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "policy/ranks/call_trace.h"
#include "policy/ranks/handle.h"
#include "policy/ranks/place.h"
#include "policy/ranks/transport.h"

namespace temper::policy {

class Communicator {
 public:
  Communicator() = default;  // a single rank: nothing waits, nothing is copied
  // Meets the other ranks. Errors: WorldError naming the ranks that did not come within `patience_s`.
  Communicator(const RankPlace& place, double patience_s);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const {
    return local_rank_;
  }  // among the ranks of this machine, which share its cores and GPUs
  int local_size() const { return local_size_; }
  // Among the ranks that may run on the same cores: the machine's, unless the launcher bound them apart.
  int core_rank() const { return core_rank_; }
  int core_size() const { return core_size_; }

  // Calls on tensors, which are contiguous, f32, f64 or bf16; a bf16 sum is computed in f32. On a GPU a call begins
  // when what the current stream holds is done, and runs beside what the stream gets later. It is noted in the digest
  // when it is started. On the CPU it is done on return.
  Handle start_all_reduce(at::Tensor& values,
                          const char* what);  // the sum over ranks, in place; the same bits everywhere
  // [size · n] in place: this rank's n become the sum over ranks, the rest may be used up.
  Handle start_reduce_scatter(at::Tensor& whole, const char* what);
  // The same, but the sum goes to `sum` [n], and all of `whole` may be used up.
  Handle start_reduce_scatter(at::Tensor& whole, at::Tensor sum, const char* what);
  // [size · n] in place: this rank's n are there before.
  Handle start_all_gather(at::Tensor& whole, const char* what);
  Handle start_broadcast(at::Tensor& values, int root, const char* what);

  // The same, and the current stream waits.
  void all_reduce(at::Tensor& values, const char* what) { start_all_reduce(values, what).wait_on_stream(); }
  // Returns this rank's n.
  at::Tensor reduce_scatter(at::Tensor& whole, const char* what);
  void all_gather(at::Tensor& whole, const char* what) { start_all_gather(whole, what).wait_on_stream(); }
  void broadcast(at::Tensor& values, int root, const char* what) {
    start_broadcast(values, root, what).wait_on_stream();
  }
  // This rank's n of [size · n].
  at::Tensor share_of(const at::Tensor& whole) const;

  void barrier(const char* what);
  double sum(double value, const char* what);
  double largest(double value, const char* what);
  bool any(bool value, const char* what);
  std::string broadcast(std::string text, int root, const char* what);
  std::vector<std::string> all_gather(const std::string& text, const char* what);  // by rank

  // Every rank's numbers, as many of each, by rank.
  std::vector<std::vector<uint64_t>> all_gather(const std::vector<uint64_t>& numbers, const char* what);

  // Records a number that must be equal on all ranks, such as a digest of common data. It is compared together with
  // the digest of the calls and needs no message of its own.
  void note(const char* what, uint64_t value) {
    if (size_ > 1) calls_->note(what, value);
  }

  // Waits for the calls that were started, and compares what the ranks have called so far. Errors: LostRanks where it is
  // not the same; this call may then have met another one's data, so that nothing of the other rank can be believed.
  void same_calls(const char* what);
  std::shared_ptr<const CallTrace> calls() const { return calls_; }

  // The first `count` ranks among themselves; all ranks call it, and the others get none. It has a digest of its own.
  std::unique_ptr<Communicator> first(int count, const char* what);

  // Some of the ranks among themselves, given in ascending order. All ranks call it, each with its own group; the groups are
  // of one size, and make the same calls in the same order, which are noted in the digest of all ranks.
  std::unique_ptr<Communicator> group(const std::vector<int>& members, const char* what);

  // From now on tensors on GPUs can be exchanged too: each rank's device is its thread's present one.
  void use_gpus();
  // After this long in one collective it is given up.
  void set_deadline(double seconds);

 private:
  void find_local_ranks(int given);
  Transport& transport_of(const at::Tensor& tensor);
  Handle start(Operation operation, at::Tensor& data, int64_t count, const char* what, int root = 0,
               void* sum = nullptr);
  std::unique_ptr<Communicator> part(const std::vector<int>& members, const char* what);

  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1, core_rank_ = 0, core_size_ = 1;
  std::unique_ptr<HostTransport> host_;
  std::unique_ptr<GpuTransport> gpus_;
  std::shared_ptr<CallTrace> calls_ = std::make_shared<CallTrace>();
};

// The single rank of a program that nobody started as several.
Communicator& alone();

}  // namespace temper::policy
