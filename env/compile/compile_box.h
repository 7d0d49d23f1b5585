#pragma once
// Compiles a candidate where the compiler, too, is not trusted: own namespaces, a root with nothing but /usr
// in it, no network, quotas on time, memory and output.

#include <chrono>
#include <string>

#include "env/compile/toolchain.h"

namespace temper::env {

// Defaults are for C++.
struct CompileQuota {
  std::chrono::milliseconds wall{10'000};
  int64_t memory_bytes = int64_t(1) << 30;  // each program's address space
  int64_t file_bytes = 16 << 20;            // any file a program writes
  int64_t object_bytes = 4 << 20;
  int64_t cubin_bytes = 4 << 20, ptx_bytes = 32 << 20, stubs_bytes = 1 << 20;
  int64_t diagnostic_bytes = 64 << 10;
  int niceness = 0;
};

// nvcc writes preprocessed source to files, three times, each 10 MB with CUB. It runs niced, because compilers
// fill every core and a process that feeds a GPU must get one at once.
inline CompileQuota cuda_compile_quota() {
  CompileQuota quota;
  quota.wall = std::chrono::milliseconds(30'000);
  quota.memory_bytes = int64_t(4) << 30;
  quota.file_bytes = 64 << 20;
  quota.niceness = 10;
  return quota;
}

struct CompileResult {
  bool ok = false;
  std::string object;             // the shared object
  std::string cubin, ptx, stubs;  // for GPU languages only
  std::string reason;             // why not: compile_error, no_entry_point, compile_timeout, compile_quota
  std::string diagnostics;        // the tools' words, cut at the quota
};

// Compiles the source in a box; no source makes it throw. If this process is root, the compiler's processes run as `user`.
// Errors: WorldError if the sandbox cannot be made.
CompileResult compile(const Toolchain& tools, const std::string& source, const CompileQuota& quota,
                      uid_t user);

// The long description of a failed compilation (env/verdict/details.h), or "" if it has nothing that helps to fix the source.
std::string compile_failure_details(const CompileResult& result, const CompileQuota& quota,
                                    const std::string& source);

}  // namespace temper::env
