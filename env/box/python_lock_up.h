#pragma once
// Locks up a process of Python's before it runs a candidate. Built as a shared library of its own, which Python calls by its
// plain C name.

#include <cstdint>

extern "C" {

// Called in a process that was forked for one candidate, has one thread and may make namespaces. It returns in a child of
// that process, which is the init of a pid namespace of its own: whoever kills either ends all that the candidate started.
// The process itself only waits for the child, and ends as it does. Open descriptors stay open in the child.
//
// In the child every file is read-only but those below `scratch`, a folder that is there and becomes an empty file system in
// memory. Limits: `memory_bytes` of writable memory and `cpu_s` of CPU time for each of its processes. It has no network, no
// privileges, the user that TEMPER_LOCKUP_USER names where it was root, and no system calls but those of an interpreter that
// runs compilers.
//
// Returns null, or in words what did not work. Then no candidate may run.
__attribute__((visibility("default"))) const char* temper_lock_up_python(const char* scratch,
                                                                         uint64_t memory_bytes,
                                                                         uint64_t cpu_s);
}
