#pragma once
// How numbers go from rank to rank. Between CPUs over MPI (mpi.cc) or TCP (tcp.cc), between GPUs over NCCL
// (nccl.cc). A transport is that of one group of ranks, and is made once.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "policy/ranks/started_calls.h"

namespace temper::policy {

enum class Number : uint8_t { kBF16, kF32, kF64 };  // bf16 between GPUs only
inline int64_t bytes_of(Number number) { return int64_t(2) << int(number); }

// The other ranks cannot be reached. The watch reports which rank failed and why.
class LostRanks : public WorldError {
 public:
  using WorldError::WorldError;
};

// The job cannot run, and another rank reports why.
class SaidElsewhere : public WorldError {
 public:
  explicit SaidElsewhere(int code) : WorldError("another rank ended the start"), exit_code(code) {}
  int exit_code;
};

// Gives every rank's text, by rank.
using Exchange = std::function<std::vector<std::string>(const std::string& text)>;

enum class Operation : uint8_t {
  kAllReduce,      // sums over ranks, in place. Exact: the same bits on every rank
  kReduceScatter,  // this rank's share becomes the sum over ranks, or `sum` does; the rest may be used up
  kAllGather,      // in place: this rank's share is there before
  kBroadcast,
};

inline const char* to_string(Operation operation) {
  constexpr const char* kNames[] = {"all-reduce", "reduce-scatter", "all-gather", "broadcast"};
  return kNames[int(operation)];
}

// One call. A rank's share lies at rank · count of `data`.
struct Collective {
  Operation operation;
  const char* what;  // what it is about; a literal, or of lasting_name()
  void* data;
  int64_t count;  // numbers: of the whole where all ranks have the same, else of a share
  Number number;
  int root = 0;         // of a broadcast
  void* sum = nullptr;  // between GPUs: where a reduce-scatter puts the sum; null: in the share's place
};

// All ranks make the same calls in the same order, from one thread. Errors of all: LostRanks, also where nothing
// moved for `deadline_s`.
class Transport {
 public:
  virtual ~Transport() = default;

  // Starts a call. Its data belong to it until it has been waited for. Null: it is done.
  virtual std::shared_ptr<StartedCall> start(const Collective& call) = 0;

  double deadline_s = 600;
};

// Between CPUs. Every call is done when it returns.
class HostTransport : public Transport {
 public:
  virtual void all_reduce(void* data, int64_t count, Number number) = 0;
  virtual void reduce_scatter(void* whole, int64_t share_count, Number number) = 0;
  virtual void all_gather(void* whole, int64_t share_bytes) = 0;
  virtual void broadcast(void* data, int64_t bytes, int root) = 0;

  std::shared_ptr<StartedCall> start(const Collective& call) override {
    const int64_t bytes = call.count * bytes_of(call.number);
    switch (call.operation) {
      case Operation::kAllReduce:
        all_reduce(call.data, call.count, call.number);
        break;
      case Operation::kReduceScatter:
        reduce_scatter(call.data, call.count, call.number);
        break;
      case Operation::kAllGather:
        all_gather(call.data, bytes);
        break;
      case Operation::kBroadcast:
        broadcast(call.data, bytes, call.root);
        break;
    }
    return nullptr;
  }

  // A transport between some of these ranks, which are given in ascending order. All ranks call it, each with its
  // own group; a rank without one gives none and gets null.
  virtual std::unique_ptr<HostTransport> part(const std::vector<int>& members, const Exchange& exchange) = 0;
};

// Between GPUs, on a stream of its own: a call begins when what the caller's current stream holds is done. The
// groups of a process share the stream, so that their calls run in the order in which they were started.
class GpuTransport : public Transport {
 public:
  // A transport between a group of these ranks. `from_first` gives the group the text that its first rank hands
  // in.
  virtual std::unique_ptr<GpuTransport> part(int rank, int size,
                                             const std::function<std::string(std::string)>& from_first) = 0;
  // The host waits until this process has no call in flight.
  virtual void wait_for_all() = 0;
};

}  // namespace temper::policy
