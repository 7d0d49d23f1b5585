#pragma once
// Locks up a process of Python's before it runs a candidate. Built as a shared library of its own, which Python calls by its
// plain C names. Each function returns null, or in words what did not work. Then no candidate may run.

#include <cstdint>

#define TEMPER_FOR_PYTHON __attribute__((visibility("default")))

extern "C" {

// Until the second is called, what this process forks is the init of a pid namespace of its own: whoever kills it ends all
// that it has started. One fork is possible then.
TEMPER_FOR_PYTHON const char* temper_fork_apart();
TEMPER_FOR_PYTHON const char* temper_fork_beside();

// Called in a process that was forked apart for one candidate, has one thread and may make namespaces. Afterwards every
// file is read-only to it but those below `scratch`, a folder that is there and becomes an empty file system in memory.
// Each of its processes may have `memory_bytes` of writable memory and `cpu_s` seconds of CPU time. It has no network and no
// privileges. Where it was root, it becomes the user that TEMPER_LOCKUP_USER names. Only the system calls of an interpreter
// that runs compilers are left to it. Open descriptors stay open. abort() ends it with the exit code 128 + SIGABRT.
TEMPER_FOR_PYTHON const char* temper_lock_up_python(const char* scratch, uint64_t memory_bytes,
                                                    uint64_t cpu_s);

// Called in a process that was forked apart, before it has other threads: from here on it has a mount, net, ipc and uts
// namespace of its own, and a /proc in which there is nobody else.
TEMPER_FOR_PYTHON const char* temper_settle_apart();

// As temper_lock_up_python, for a process that is alone in its box from its start (env/kernelbench/module_process.h) or has
// settled apart, and may have other threads by now, those of CUDA's driver say: all of them are locked up. Programs and
// libraries may lie below `scratch`. TEMPER_LOCKUP_BYTES and TEMPER_LOCKUP_CPU_S hold the limits. Where TEMPER_LOCKUP_GPU is 1,
// it may talk to the driver as well.
TEMPER_FOR_PYTHON const char* temper_lock_up_module(const char* scratch);
}
