#pragma once
// TCP sockets with deadlines.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"

namespace temper {

// Where a rank can be reached: its addresses on all interfaces, the loopback's last.
struct Address {
  std::vector<std::string> hosts;
  int port = 0;
  std::string
      token;  // known to the ranks of this job alone: tells them from strangers, and a host from another
};
std::string to_text(const Address& address);
Address address_from(const std::string& text);

// Listens on all interfaces, on a port that the system chooses.
class Listener {
 public:
  Listener();  // Errors: WorldError
  Address address() const;
  // The next rank that connects, or none when `until_s` (of now_s) has passed.
  std::optional<std::pair<int, Fd>> accept(double until_s) const;

 private:
  Fd socket_;
  std::string token_;
};

// Tries the hosts in turn until the listener answers; an Fd of none when `until_s` has passed.
Fd connect_to(const Address& address, int rank, double until_s);

// Whether host:port answers before `until_s`.
bool answers(const std::string& host, int port, double until_s);

}  // namespace temper
