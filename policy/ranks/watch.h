#pragma once
// The watch: a thread on every rank, with a connection between rank 0 and each other rank. Once a second ranks send
// what they are doing. If a rank dies, stops, hangs or fails, all ranks end, with one message.
//
// A dead rank is noticed within a second, when its connection breaks; a stopped one or a lost host after silence_s;
// a hung one after timeout_s. A rank that makes other collective calls than the rest is noticed within seconds: all
// ranks then send their last calls to rank 0, which reports the rank and the call that differ, or both ranks if
// there are only two. Ranks that others can do without (spare) may be lost. Rank 0 prints the message; if rank 0
// itself failed, rank 1 does. An interrupt of one rank is passed on to all.

#include <memory>
#include <string>

#include "policy/ranks/communicator.h"
#include "policy/ranks/watch_rules.h"

namespace temper::policy {

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

  // From now on the ranks from `first` on may be lost: rank 0 reports it, and the others continue without them.
  void spare(int first);
  // Whether rank 0 has ended normally.
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

}  // namespace temper::policy
