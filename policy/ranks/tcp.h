#pragma once
// Sums and gathers over a ring of TCP connections. Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce
// algorithms for clusters of workstations" (JPDC 2009).

#include <memory>

#include "policy/ranks/transport.h"

namespace temper::policy {

// Errors: LostRanks if a neighbour cannot be reached within `patience_s`.
std::unique_ptr<HostTransport> make_tcp_transport(int rank, int size, const Exchange& exchange,
                                                  double patience_s);

}  // namespace temper::policy
