#pragma once
// Leases: use of a part of the machine by one process at a time, or by several that agree to share it.

#include <filesystem>
#include <functional>
#include <string>

#include "base/process.h"

namespace temper {

enum class LeaseKind : uint8_t {
  kAlone,
  kShared,  // with others that ask for this kind
};

// An attempt to get use of "core-3" or a GPU's UUID among the processes of this user that ask for it. A waiting process gets
// its turn before one that has released the part and asks again, unless the waiting process is suspended.
class LeaseWait {
 public:
  explicit LeaseWait(std::string part, LeaseKind kind = LeaseKind::kAlone);
  // The lock, held until the descriptor is closed or its process ends; nothing while another holds it.
  // Errors: WorldError if it cannot be asked for.
  Fd try_now();
  std::string holder() const;  // "pid 4242 (build/temper train run.dir=x)", as it says of itself
  const std::string& part() const { return part_; }
  double waited_s() const { return now_s() - start_s_; }

 private:
  std::string part_;
  LeaseKind kind_;
  double start_s_;
  Fd lock_, turn_;
  bool has_turn_ = false;
};

// Called once a second during a wait.
using LeaseListener = std::function<void(const LeaseWait&)>;

// Waits for as long as it takes. Nothing once `give_up()` says so, which is asked often. `listener`: else the
// one below.
Fd lease(const std::string& part, const std::function<bool()>& give_up, const LeaseListener& listener = {});
// Waits until it gets the part. Errors: WorldError if this process is interrupted().
Fd lease(const std::string& part, LeaseKind kind = LeaseKind::kAlone);

// The file that is locked for a part. Errors: WorldError if TMPDIR cannot be used.
std::filesystem::path lease_file(const std::string& part);

// Sets the listener of all waits from now on. Without one, waits are reported on standard error, after 10 s and then
// every minute.
void listen_to_leases(LeaseListener listener);

// Whether a wait that is told once a second is said now: after 10 s, and then each minute.
bool says_wait_now(double waited_s);

}  // namespace temper
