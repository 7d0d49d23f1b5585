#pragma once
// What this process is at, for whoever watches it from outside: written by the main thread, read by any.

#include <cstdint>
#include <functional>
#include <string>

namespace temper {

struct Activity {
  std::string phase;       // "start-up", "rollout", …
  uint64_t progress = 0;   // rises with each piece of work that is done
  std::string collective;  // what it waits for together with the other ranks; empty: it does not
};

// Names the phase for as long as it lives; after an exception it stays, to say where that came from. `name`
// must be a literal.
class Phase {
 public:
  explicit Phase(const char* name);
  ~Phase();
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

 private:
  const char* before_;
  int exceptions_;
};

// The same for a wait on the other ranks.
class CollectiveWait {
 public:
  explicit CollectiveWait(const char* name);
  ~CollectiveWait();
  CollectiveWait(const CollectiveWait&) = delete;
  CollectiveWait& operator=(const CollectiveWait&) = delete;
  // As tests want it: how often the call is made, and whether a bit of its result is flipped.
  int times() const { return fault_ == "skip" ? 0 : fault_ == "twice" ? 2 : 1; }
  bool flips() const { return fault_ == "flip"; }

 private:
  int exceptions_;
  std::string fault_;
};

void made_progress();

// For tests: TEMPER_FAULT=PLACE:KIND lets this process fail where it first comes to a phase, a collective or
// another place of that name, or of that name and a unit ("weights" is "weights of model.norm", too);
// PLACE:KIND@N where it does so for the N-th time. Kinds: kill, crash, stop, exit, interrupt, throw, hang,
// slow. A kind that only the place knows how to do is returned, else "": skip and twice, at a collective and
// a micro-batch; flip, a bit of what a gather of tensors gave, of the weights ("gathered"), the reference and
// the batch; garbage, at "beat".
std::string fail_if_asked(const char* place);

// Called by the main thread after each change of phase; null: no more. It must not throw.
void listen_to_phases(std::function<void()> listener);
Activity present_activity();

}  // namespace temper
