#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <termios.h>

#include <initializer_list>
#include <memory>

#include "base/error.h"
#include "env/box/lockdown.h"

namespace temper::env {
namespace {

constexpr uint64_t kNewNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

using Filter = std::unique_ptr<void, decltype(&seccomp_release)>;

Filter make_filter(uint32_t otherwise) {
  Filter filter(seccomp_init(otherwise), &seccomp_release);
  if (!filter) throw WorldError("cannot make a system-call filter");
  return filter;
}

template <class... Conditions>
void rule(const Filter& filter, uint32_t action, int call, Conditions... conditions) {
  const int error = seccomp_rule_add(filter.get(), action, call, sizeof...(conditions), conditions...);
  if (error != 0) throw WorldError("cannot filter system call {}: {}", call, std::strerror(-error));
}

void allow(const Filter& filter, std::initializer_list<int> calls) {
  for (int call : calls) rule(filter, SCMP_ACT_ALLOW, call);
}

void load(const Filter& filter) {
  const int error = seccomp_load(filter.get());
  if (error != 0) throw WorldError("cannot load the system-call filter: {}", std::strerror(-error));
}

// What any program needs to compute, allocate, read the clock and end.
void allow_computing(const Filter& filter) {
  allow(filter, {SCMP_SYS(read),          SCMP_SYS(write),        SCMP_SYS(readv),
                 SCMP_SYS(writev),        SCMP_SYS(pread64),      SCMP_SYS(lseek),
                 SCMP_SYS(close),         SCMP_SYS(fstat),        SCMP_SYS(newfstatat),
                 SCMP_SYS(mmap),          SCMP_SYS(munmap),       SCMP_SYS(mprotect),
                 SCMP_SYS(mremap),        SCMP_SYS(madvise),      SCMP_SYS(brk),
                 SCMP_SYS(futex),         SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
                 SCMP_SYS(rt_sigreturn),  SCMP_SYS(sigaltstack),  SCMP_SYS(restart_syscall),
                 SCMP_SYS(exit),          SCMP_SYS(exit_group),   SCMP_SYS(getpid),
                 SCMP_SYS(gettid),        SCMP_SYS(tgkill),       SCMP_SYS(pause),
                 SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep),
                 SCMP_SYS(nanosleep),     SCMP_SYS(gettimeofday), SCMP_SYS(time),
                 SCMP_SYS(getrandom),     SCMP_SYS(sched_yield),  SCMP_SYS(sched_getaffinity),
                 SCMP_SYS(getcpu),        SCMP_SYS(sysinfo),      SCMP_SYS(uname),
                 SCMP_SYS(getrusage),     SCMP_SYS(times)});
}

void allow_compiling(const Filter& filter) {
  allow(filter, {SCMP_SYS(execve),
                 SCMP_SYS(openat),
                 SCMP_SYS(open),
                 SCMP_SYS(stat),
                 SCMP_SYS(lstat),
                 SCMP_SYS(statx),
                 SCMP_SYS(access),
                 SCMP_SYS(faccessat),
                 SCMP_SYS(faccessat2),
                 SCMP_SYS(readlink),
                 SCMP_SYS(readlinkat),
                 SCMP_SYS(unlink),
                 SCMP_SYS(unlinkat),
                 SCMP_SYS(rename),
                 SCMP_SYS(getcwd),
                 SCMP_SYS(getdents64),
                 SCMP_SYS(chmod),
                 SCMP_SYS(fchmod),
                 SCMP_SYS(umask),
                 SCMP_SYS(fcntl),
                 SCMP_SYS(dup),
                 SCMP_SYS(dup2),
                 SCMP_SYS(ftruncate),
                 SCMP_SYS(fallocate),
                 SCMP_SYS(fadvise64),
                 SCMP_SYS(arch_prctl),
                 SCMP_SYS(set_tid_address),
                 SCMP_SYS(set_robust_list),
                 SCMP_SYS(rseq),
                 SCMP_SYS(prlimit64),
                 SCMP_SYS(getrlimit),
                 SCMP_SYS(getuid),
                 SCMP_SYS(geteuid),
                 SCMP_SYS(getgid),
                 SCMP_SYS(getegid)});
}

// Making processes, tracing and executing end the candidate: no honest kernel does that.
void kill_on_process_calls(const Filter& filter) {
  for (int call : {SCMP_SYS(clone), SCMP_SYS(clone3), SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(execve),
                   SCMP_SYS(execveat), SCMP_SYS(ptrace), SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(mount),
                   SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(bpf),
                   SCMP_SYS(io_uring_setup), SCMP_SYS(userfaultfd), SCMP_SYS(perf_event_open)})
    rule(filter, SCMP_ACT_KILL_PROCESS, call);
}

// What an interpreter that runs compilers needs, without ioctl.
void allow_python(const Filter& filter) {
  allow_computing(filter);
  allow_compiling(filter);
  allow(filter, {SCMP_SYS(vfork),    SCMP_SYS(wait4),       SCMP_SYS(waitid),    SCMP_SYS(pipe),
                 SCMP_SYS(pipe2),    SCMP_SYS(poll),        SCMP_SYS(ppoll),     SCMP_SYS(select),
                 SCMP_SYS(pselect6), SCMP_SYS(close_range), SCMP_SYS(mkdir),     SCMP_SYS(mkdirat),
                 SCMP_SYS(rmdir),    SCMP_SYS(renameat),    SCMP_SYS(renameat2), SCMP_SYS(utimensat),
                 SCMP_SYS(pwrite64), SCMP_SYS(sendfile),    SCMP_SYS(getppid),   SCMP_SYS(dup3),
                 SCMP_SYS(chdir)});
  rule(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, kNewNamespaces, 0));
  // Its flags lie in memory, where no filter looks. The C library takes clone instead.
  rule(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3));
}

constexpr uint64_t kTerminalCalls[] = {TCGETS, FIOCLEX, FIONCLEX};

}  // namespace

void allow_only_compiler_calls() {
  const Filter filter = make_filter(SCMP_ACT_ERRNO(EPERM));
  allow_computing(filter);
  allow_compiling(filter);
  load(filter);
}

void allow_only_interpreter_calls() {
  const Filter filter = make_filter(SCMP_ACT_ERRNO(EPERM));
  allow_computing(filter);
  allow_compiling(filter);
  allow(filter, {SCMP_SYS(recvfrom), SCMP_SYS(sendto), SCMP_SYS(getsockname), SCMP_SYS(getsockopt), SCMP_SYS(poll),
                 SCMP_SYS(dup3), SCMP_SYS(close_range)});
  for (const uint64_t request : kTerminalCalls)
    rule(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, request));
  load(filter);
}

void allow_only_python_calls() {
  const Filter filter = make_filter(SCMP_ACT_ERRNO(EPERM));
  allow_python(filter);
  for (const uint64_t request : kTerminalCalls)
    rule(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, request));
  load(filter);
}

// No filter sees what an ioctl's argument holds, so the driver's are not told apart: its devices alone are in the box.
void allow_only_module_calls(bool gpu) {
  const Filter filter = make_filter(SCMP_ACT_ERRNO(EPERM));
  if (seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1) != 0)
    throw WorldError("this kernel cannot filter the system calls of all threads");
  allow_python(filter);
  // No socket can be made, but there is one to the broker.
  allow(filter, {SCMP_SYS(recvfrom), SCMP_SYS(sendto), SCMP_SYS(recvmsg), SCMP_SYS(sendmsg),
                 SCMP_SYS(sched_getparam), SCMP_SYS(sched_getscheduler), SCMP_SYS(get_mempolicy),
                 SCMP_SYS(mincore), SCMP_SYS(membarrier), SCMP_SYS(msync)});
  if (!gpu) {
    for (const uint64_t request : kTerminalCalls)
      rule(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, request));
  } else {
    allow(filter, {SCMP_SYS(ioctl), SCMP_SYS(eventfd2), SCMP_SYS(mbind), SCMP_SYS(mlock), SCMP_SYS(munlock),
                   SCMP_SYS(sched_setaffinity), SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl),
                   SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait)});
    rule(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, uint64_t(PR_SET_NAME)));
  }
  load(filter);
}

void allow_only_candidate_calls() {
  const Filter filter = make_filter(SCMP_ACT_ERRNO(EPERM));
  allow_computing(filter);
  kill_on_process_calls(filter);
  constexpr uint64_t kWriting = O_ACCMODE | O_CREAT | O_TRUNC | __O_TMPFILE;
  rule(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), SCMP_A2(SCMP_CMP_MASKED_EQ, kWriting, O_RDONLY));
  load(filter);
}

}  // namespace temper::env
