#pragma once
// Compiles a candidate where the compiler, too, is not trusted: own namespaces, a root with nothing but /usr
// in it, no network, quotas on time, memory and output.

#include <chrono>
#include <string>

#include "env/compile/toolchain.h"

namespace temper {

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

// nvcc writes what it has preprocessed to files: with CUB that is 10 MB, three times. It leaves a core at
// once to who works with a GPU: all cores compile, and a GPU that waits for one of them is idle.
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
  std::string cubin, ptx, stubs;  // of a GPU language
  std::string reason;             // why not: compile_error, no_entry_point, compile_timeout, compile_quota
  std::string diagnostics;        // the tools' words, cut at the quota
};

// Never throws for the source's sake. `user` is who the tools run as where we are root.
// Errors: WorldError if the sandbox cannot be made.
CompileResult compile(const Toolchain& tools, const std::string& source, const CompileQuota& quota,
                      uid_t user);

// What a failed compilation says at length (env/verdict/details.h); "" where nothing in it helps to mend it.
std::string compile_failure_details(const CompileResult& result, const CompileQuota& quota,
                                    const std::string& source);

}  // namespace temper
