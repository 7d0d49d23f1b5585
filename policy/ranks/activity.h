#pragma once
// The current activity of this process, for the watch and for messages. The main thread writes it, and any thread may
// read it.

#include <cstdint>
#include <functional>
#include <string>

namespace temper::policy {

struct Activity {
  std::string phase;       // "start-up", "rollout", …
  uint64_t progress = 0;   // rises with each piece of work that is done
  std::string collective;  // the collective call in which it waits for other ranks; empty if it is in none
};

// Sets the name of the phase while it lives. After an exception the name stays, to show where the exception came
// from. `name` must be a literal.
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

// Marks, while it lives, that the process waits for other ranks in a collective call. Errors: LostRanks if a call that
// was started earlier has failed since.
class CollectiveWait {
 public:
  explicit CollectiveWait(const char* name);
  ~CollectiveWait();
  CollectiveWait(const CollectiveWait&) = delete;
  CollectiveWait& operator=(const CollectiveWait&) = delete;
  // Fault injection for tests: how often the call is made, and whether a bit of its result is flipped.
  int times() const { return fault_ == "skip" ? 0 : fault_ == "twice" ? 2 : 1; }
  bool flips() const { return fault_ == "flip"; }

 private:
  int exceptions_;
  std::string fault_;
};

void made_progress();

// From any thread: the device waits for other ranks in this collective call, null: in none. It counts as a wait of this
// process where the main thread is in no collective call itself. `name` must last.
void device_waits_in(const char* name);

// From any thread: a collective call that ran on a device has failed, so that what this process has computed since is
// worthless. The first failure is kept; "" forgets it, for tests.
void report_failed_call(const std::string& why);
std::string failed_call();  // "" if none has

// For tests: TEMPER_FAULT=PLACE:KIND lets this process fail where it first comes to a phase, a collective or
// another place of that name, or of that name and a unit ("weights" is "weights of model.norm", too);
// PLACE:KIND@N where it does so for the N-th time. Kinds: kill, crash, stop, exit, interrupt, throw, hang,
// slow. A kind that only the place knows how to do is returned, else "": skip and twice, at a collective and
// a micro-batch; flip, a bit of what a gather of tensors gave, of the weights ("gathered"), the reference and
// the batch; garbage, at "beat".
std::string fail_if_asked(const char* place);

// Sets a function that the main thread calls after each change of phase; null removes it. It must not throw.
void listen_to_phases(std::function<void()> listener);
Activity present_activity();

}  // namespace temper::policy
