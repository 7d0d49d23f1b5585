#pragma once
// Every rank's eye on the others: a thread with a connection between rank 0 and each rank. Once a second
// ranks say what they are at. A rank that dies, stops, hangs or fails ends all of them, with one message.
//
// A dead rank is noticed when its connection breaks, within a second; a stopped one, or a lost host, after
// silence_s; a hung one after timeout_s; one that makes other collective calls than the rest, in seconds:
// then all tell rank 0 their last calls, and it says which call of whom differs, or of both where two are at
// odds. Ranks that others can do without are an exception (spare). Rank 0 speaks; of rank 0 itself, rank 1.
// An interrupt of one rank reaches all.

#include <memory>
#include <string>

#include "policy/ranks/communicator.h"
#include "policy/ranks/watch_rules.h"

namespace temper {

class Watch {
 public:
  // Errors: LostRanks if the ranks cannot reach each other within `patience_s`.
  Watch(Communicator& ranks, const WatchOptions& options, double patience_s);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // This rank failed: ends all ranks with `code`. `lost`: the failure is that of a call to other ranks, and
  // probably one of them has a better reason to give.
  [[noreturn]] void fail(int code, const std::string& text, bool lost = false);

  // Compares the calls of this communicator too, of those ranks that are in it.
  void follow(const Communicator& part);

  // From now on the ranks from `first` on may be lost: rank 0 says so, and the others go on without them.
  void spare(int first);
  // Whether rank 0 has come to its end.
  bool first_left() const;

  // This rank has come to its end, as the others will.
  void leave();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "rank 2 of 4 (host worker-1, pid 4242)".
std::string rank_text(int rank, int size, const std::string& host, int pid);
std::string host_name();

}  // namespace temper
