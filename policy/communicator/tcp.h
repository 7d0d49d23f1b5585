#pragma once
// Sums and gathers over a ring of TCP connections. Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce
// algorithms for clusters of workstations" (JPDC 2009).

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "policy/communicator/transport.h"

namespace temper {

// Gives every rank's text, by rank.
using Exchange = std::function<std::vector<std::string>(const std::string& text)>;

// Errors: LostRanks if a neighbour cannot be reached within `patience_s`.
std::unique_ptr<Transport> make_tcp_transport(int rank, int size, const Exchange& exchange,
                                              double patience_s);

}  // namespace temper
