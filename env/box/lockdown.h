#pragma once
// The steps by which a process gives up resources, privileges and system calls before it runs a candidate. Each step
// throws WorldError if it fails; none is skipped silently.

#include <sys/types.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace temper::env {

struct Limits {
  int64_t memory_bytes = 0;  // address space; 0: as it is
  int64_t data_bytes = 0;    // writable private memory; 0: as it is. For programs that map gigabytes of files
  int64_t cpu_s = 0;
  int64_t file_bytes = 0;
  int64_t open_files = 64;
  int64_t processes = 1;  // for the user; takes effect only after the user was dropped
  int64_t stack_bytes = 8 << 20;
  int niceness = 0;  // added to what it is
};
void apply_limits(const Limits& limits);

// Of this process and of programs executed later. A copy of a larger process can allocate nothing after it.
void limit_addresses(int64_t bytes);

// Becomes `uid` where we are root and the user exists in our namespace, else stays; gives up every capability
// and the way back to one, and hides our memory from other processes of the user. True if the user was
// dropped.
bool drop_privileges(uid_t uid);

// Gives up every capability but these (CAP_SYS_ADMIN, …), for programs executed later, too, and the way back.
void keep_only_capabilities(std::initializer_list<int> kept);

// Install allow-lists of system calls. A call that is not listed fails with EPERM. For candidates, creating processes,
// tracing and executing programs kill the process. Python's list is the compilers' and what an interpreter needs to run
// compilers; new namespaces are not in it.
void allow_only_compiler_calls();
void allow_only_candidate_calls();
void allow_only_python_calls();

// For an interpreter that is yet to be executed, makes no processes, and talks over sockets that it is given.
void allow_only_interpreter_calls();

// Python's list for a process with several threads, all of which keep to it from now on. With `gpu`, also what CUDA's
// driver calls. Sockets, tracing and new namespaces are in neither.
void allow_only_module_calls(bool gpu);

// Tries what must fail now: sockets, files of the machine (`hidden`), new files, signals to others, priorities, more
// namespaces. Returns the first that worked, or "".
std::string first_open_door(const std::vector<std::string>& hidden = {"/etc/passwd", "/proc/self/maps",
                                                                      "/dev/null", "/usr/bin/env"});

// Runs a new process, a trace and an exec under the candidate's filter, each in a box of its own, and returns
// the first that was not killed for it, or "".
std::string first_call_not_killed();

}  // namespace temper::env
