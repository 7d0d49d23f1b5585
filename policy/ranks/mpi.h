#pragma once
// MPI between CPUs. It is built as a separate library, libtemper-mpi.so beside the program, which is loaded only if
// mpirun started this process. A program that runs alone needs no MPI and does not spend time on starting it.

#include <memory>

#include "policy/ranks/transport.h"

namespace temper::policy {

// Initialises MPI; ends the process if that takes longer than `patience_s`, since a rank of mpirun's is
// missing. Errors: WorldError if the library is not there or MPI's rank and size are not those given.
std::unique_ptr<HostTransport> make_mpi_transport(int rank, int size, double patience_s);

}  // namespace temper::policy
