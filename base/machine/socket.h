#pragma once
// TCP sockets with deadlines.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/machine/messages.h"
#include "base/process.h"

namespace temper {

// Where a rank can be reached: its addresses on the interfaces it listens on, the loopback's last.
struct Address {
  std::vector<std::string> hosts;
  int port = 0;
  std::string token;  // tells one listener from another that has its port later
};
std::string to_text(const Address& address);
Address address_from(const std::string& text);  // Errors: WorldError where it is none

// From now on this process listens on that address of its host alone; "": on all.
void listen_only_at(const std::string& host);
// The address of this host through which another one is reached; "": not known, or the loopback's for a host
// whose name others may read otherwise.
std::string own_address_towards(const std::string& host, int port);
// A socket that listens at host:port, and where; none if that is no address of this host. Errors: WorldError.
std::pair<Fd, std::string> listen_at(const std::string& host, int port);

// Listens on a port that the system chooses. Whoever connects proves that it knows the token and the job's
// secret (secret.h), and the listener to it; the secret itself is never sent.
class Listener {
 public:
  // Who has connected must prove what it knows within so many seconds. Errors: WorldError.
  explicit Listener(double hello_within_s = 2);
  Address address() const;
  // The next rank that connects, or none when `until_s` (of now_s) has passed. Those that prove nothing are
  // let go then, and nobody waits for them.
  std::optional<std::pair<int, Fd>> accept(double until_s);

 private:
  struct Arriving {
    Fd socket;
    MessageReader reader;
    std::string nonce;
    double until_s;
    bool over = false;
  };
  void let_in();
  std::optional<int> hear(Arriving& one) const;

  double hello_within_s_;
  Fd socket_;
  std::string host_, token_;
  std::vector<Arriving> arriving_;
};

// Tries the hosts in turn until the listener answers; an Fd of none when `until_s` has passed.
Fd connect_to(const Address& address, int rank, double until_s);

// Whether host:port answers before `until_s`.
bool answers(const std::string& host, int port, double until_s);

}  // namespace temper
