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

 private:
  int exceptions_;
};

void made_progress();

// Called by the main thread after each change of phase; null: no more. It must not throw.
void listen_to_phases(std::function<void()> listener);
Activity present_activity();

}  // namespace temper
