#pragma once
// MPI between CPUs. Lives in a library of its own, libtemper-mpi.so beside the program, loaded where mpirun
// started us: a program that runs alone needs no MPI and waits for none.

#include <memory>

#include "policy/ranks/transport.h"

namespace temper {

// Initialises MPI; ends the process if that takes longer than `patience_s`, since a rank of mpirun's is
// missing. Errors: WorldError if the library is not there or MPI's rank and size are not those given.
std::unique_ptr<HostTransport> make_mpi_transport(int rank, int size, double patience_s);

}  // namespace temper
