// Finds libtemper-mpi.so.

#include <dlfcn.h>

#include "base/files.h"
#include "policy/ranks/mpi.h"

namespace temper::policy {

std::unique_ptr<HostTransport> make_mpi_transport(int rank, int size, double patience_s) {
  const std::string path = (executable_dir() / "libtemper-mpi.so").string();
  // Global: Open MPI loads its own parts, and they look for its symbols.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    throw WorldError(
        "mpirun started this program and its MPI part cannot be loaded: {}; install Open MPI and build "
        "again, or start the ranks with torchrun's variables",
        ::dlerror());
  using Make = HostTransport* (*)(int, int, double);
  const auto make = reinterpret_cast<Make>(::dlsym(library, "temper_make_mpi_transport"));
  if (!make) throw WorldError("{} is of another build: {}", path, ::dlerror());
  return std::unique_ptr<HostTransport>(make(rank, size, patience_s));
}

}  // namespace temper::policy
