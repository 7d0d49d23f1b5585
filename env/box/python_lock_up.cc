#include "env/box/python_lock_up.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/process.h"
#include "env/box/lockdown.h"
#include "env/box/namespaces.h"

namespace temper::env {
namespace {

constexpr int kNamespacesOfCandidate = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
constexpr int64_t kProcesses = 16;  // of one candidate, threads included
constexpr int64_t kOpenFiles = 256;
constexpr int64_t kScratchBytes = 256 << 20;
constexpr int kNiceness = 10;  // as nvcc's: a process that feeds a GPU must get a core at once
constexpr int kAborted = 128 + SIGABRT;
constexpr int64_t kModuleProcesses = 96;  // CUDA's driver has threads of its own
constexpr int64_t kModuleFiles = 1024;
constexpr int64_t kModuleScratchBytes = int64_t(1) << 30;

// The init process of a pid namespace survives abort(), so end with the code that a shell would report.
void end_aborted(int) { ::_exit(kAborted); }

void fork_apart() {
  if (::unshare(CLONE_NEWPID) != 0) throw namespace_error("make a candidate's pid namespace");
}

void fork_beside() {
  const Fd self(int(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!self || ::setns(self.get(), CLONE_NEWPID) != 0)
    throw namespace_error("go back to the own pid namespace");
}

struct Scratch {
  int64_t bytes = kScratchBytes;
  uint64_t flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
};

void make_files_read_only(const char* folder, const Scratch& scratch) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    throw namespace_error("make mounts private");
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  if (::syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &attributes, sizeof attributes) != 0)
    throw namespace_error("make all files read-only");
  const std::string options = fmt::format("size={},nr_inodes=4096,mode=0777", scratch.bytes);
  if (::mount("tmpfs", folder, "tmpfs", scratch.flags, options.c_str()) != 0)
    throw namespace_error("mount a candidate's folder");
}

// Where there is a /proc, threads are named in it.
void keep_processes_writable() {
  mount_attr attributes{};
  attributes.attr_clr = MOUNT_ATTR_RDONLY;
  if (::syscall(SYS_mount_setattr, AT_FDCWD, "/proc", 0, &attributes, sizeof attributes) != 0)
    throw namespace_error("keep /proc writable");
}

int64_t number_of_environment(const char* name) {
  const char* told = std::getenv(name);
  const int64_t number = told == nullptr ? 0 : std::atoll(told);
  if (number <= 0) throw WorldError("{} is no number above 0", name);
  return number;
}

uid_t user_of_candidate() { return uid_t(number_of_environment("TEMPER_LOCKUP_USER")); }

// A forked process has the number 1 only where it was forked apart.
void make_own_namespaces() {
  if (::getpid() != 1) throw WorldError("a candidate's process was not forked apart");
  if (::unshare(kNamespacesOfCandidate) != 0) throw namespace_error("make a candidate's namespaces");
}

// The new /proc covers that of the box.
void settle_apart() {
  make_own_namespaces();
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    throw namespace_error("make mounts private");
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    throw namespace_error("mount a candidate's /proc");
}

void lock_up_candidate(const char* scratch, uint64_t memory_bytes, uint64_t cpu_s) {
  const uid_t user = user_of_candidate();
  make_own_namespaces();
  make_files_read_only(scratch, {});
  apply_limits({.data_bytes = int64_t(memory_bytes),
                .cpu_s = int64_t(cpu_s),
                .file_bytes = kScratchBytes,
                .open_files = kOpenFiles,
                .processes = kProcesses,
                .niceness = kNiceness});
  drop_privileges(user);
  ::signal(SIGABRT, end_aborted);
  allow_only_python_calls();
  const std::string door =
      first_open_door({"/etc/passwd", "/proc/self/maps", "/proc/1/environ", "/dev/kmsg"});
  if (!door.empty()) throw WorldError("the sandbox does not hold: {} works", door);
}

void lock_up_module(const char* scratch) {
  const uid_t user = user_of_candidate();
  const char* told = std::getenv("TEMPER_LOCKUP_GPU");
  const bool gpu = told != nullptr && std::string_view(told) == "1";
  if (::getpid() != 1) throw WorldError("a candidate's process is not the first of its box");
  make_files_read_only(scratch, {kModuleScratchBytes, MS_NOSUID | MS_NODEV});
  if (gpu) keep_processes_writable();
  apply_limits({.data_bytes = number_of_environment("TEMPER_LOCKUP_BYTES"),
                .cpu_s = number_of_environment("TEMPER_LOCKUP_CPU_S"),
                .file_bytes = kModuleScratchBytes,
                .open_files = kModuleFiles,
                .processes = kModuleProcesses});
  drop_privileges(user);
  ::signal(SIGABRT, end_aborted);
  allow_only_module_calls(gpu);
  const std::string door = first_open_door({"/etc/passwd", "/proc/1/environ", "/dev/kmsg"});
  if (!door.empty()) throw WorldError("the sandbox does not hold: {} works", door);
}

// Null, or what a step threw.
template <class F>
const char* words_of(const F& step) {
  static char words[400];
  try {
    step();
    return nullptr;
  } catch (const std::exception& e) {
    std::snprintf(words, sizeof words, "%s", e.what());
    return words;
  }
}

}  // namespace
}  // namespace temper::env

const char* temper_fork_apart() {
  return temper::env::words_of([] { temper::env::fork_apart(); });
}

const char* temper_fork_beside() {
  return temper::env::words_of([] { temper::env::fork_beside(); });
}

const char* temper_settle_apart() {
  return temper::env::words_of([] { temper::env::settle_apart(); });
}

const char* temper_lock_up_python(const char* scratch, uint64_t memory_bytes, uint64_t cpu_s) {
  return temper::env::words_of([&] { temper::env::lock_up_candidate(scratch, memory_bytes, cpu_s); });
}

const char* temper_lock_up_module(const char* scratch) {
  return temper::env::words_of([&] { temper::env::lock_up_module(scratch); });
}
