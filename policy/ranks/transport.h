#pragma once
// How numbers go from rank to rank. Between CPUs over MPI (mpi.cc) or TCP (tcp.cc), between GPUs over NCCL
// (nccl.cc).

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

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

// All ranks make the same calls in the same order, from one thread. Calls return when this rank's data are
// there. Errors of all: LostRanks, also where nothing moved for `deadline_s`.
class Transport {
 public:
  virtual ~Transport() = default;

  // Sums over ranks, in place. Exact: the same bits on every rank.
  virtual void all_reduce(void* data, int64_t count, Number number) = 0;
  // `share` gets the sum of every rank's share_count numbers at rank · share_count of `whole`, which may be
  // used up.
  virtual void reduce_scatter(void* whole, void* share, int64_t share_count, Number number) = 0;
  // Gathers in place: this rank's share is already at rank · share_bytes.
  virtual void all_gather(void* whole, int64_t share_bytes) = 0;
  virtual void broadcast(void* data, int64_t bytes, int root) = 0;

  double deadline_s = 600;
};

// Between CPUs.
class HostTransport : public Transport {
 public:
  // A transport between the first `count` ranks only. All ranks call it; the others get null.
  virtual std::unique_ptr<HostTransport> first(int count, const Exchange& exchange) = 0;
};

}  // namespace temper::policy
