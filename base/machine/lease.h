#pragma once
// A part of the machine that one process at a time has to itself.

#include <functional>
#include <string>

#include "base/process.h"

namespace temper {

// An attempt to have "core-3" or a GPU's UUID alone among the processes of this user that ask. Who waits has
// its turn before a process that gives the part back and asks again; but a waiting process that is stopped
// keeps nobody from it.
class LeaseWait {
 public:
  explicit LeaseWait(std::string part);
  // The lock, held until the descriptor is closed or its process ends; nothing while another holds it.
  // Errors: WorldError if it cannot be asked for.
  Fd try_now();
  std::string holder() const;  // "pid 4242 (build/temper train run.dir=x)", as it says of itself
  const std::string& part() const { return part_; }
  double waited_s() const { return now_s() - start_s_; }

 private:
  std::string part_;
  double start_s_;
  Fd lock_, turn_;
  bool has_turn_ = false;
};

// Told once a second of a wait.
using LeaseListener = std::function<void(const LeaseWait&)>;

// Waits for as long as it takes. Nothing once `give_up()` says so, which is asked often. `listener`: else the
// one below.
Fd lease(const std::string& part, const std::function<bool()>& give_up, const LeaseListener& listener = {});
// The same until this process is interrupted(). Errors: WorldError then.
Fd lease(const std::string& part);

// Who hears of waits from now on. At first they are said on standard error: after 10 s, and then each minute.
void listen_to_leases(LeaseListener listener);

// Whether a wait that is told once a second is said now: after 10 s, and then each minute.
bool says_wait_now(double waited_s);

}  // namespace temper
