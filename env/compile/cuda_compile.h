#pragma once
// A CUDA candidate's two halves, one after another.

#include "env/compile/compile_box.h"
#include "env/languages/host_half.h"

namespace temper::env {

struct CudaCompiled {
  CompileResult result;  // object, cubin, ptx; or why there are none
  HostOrigin host = HostOrigin::kNone;
  HostHalf made;  // a new host half for other candidates with this host text; empty if it was known
};

// `known` is a host half of the unit's host text, or empty; it is taken where its stubs are this candidate's
// own, and the result is the same without it. The device's half comes first: it finds the mistakes of both,
// at a third of the time. The quota's wall time bounds all of it. Errors: as compile.
CudaCompiled compile_cuda(const CudaToolchain& tools, const std::string& unit, const HostHalf& known,
                          const CompileQuota& quota, uid_t user);

// Stubs without what changes with the bodies of kernels: which lines they are on, and numbers in names that
// no one else sees.
std::string plain_stubs(const std::string& stubs);

}  // namespace temper::env
