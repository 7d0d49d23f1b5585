// Runs a program and kills it with SIGKILL at one of the system calls of a save, in front of the call; or
// lists them all.
//
//   kill_at_call FOLDER FILE NTH PART AT LIST PROGRAM WORD…
//
// The calls are counted from 1, which is the NTH write to FOLDER/FILE or its creation. PART says of what:
//   thread   of the thread that makes this call until it starts another one, then of that one until it ends
//   folder   of the thread that makes this call, what names something in FOLDER, until it writes to FILE
//   again
// What comes and goes by chance and changes nothing outside the process (futex, poll, mmap, …) is not
// counted, nor looking again at what was looked at just before, as who waits does.
//
// AT: the call to be killed at, 0: none. LIST: a file that gets a line for each call, or the one for that
// call alone. KILL_ALSO in the environment: pids that are killed with it. Exit code: the program's; 77 where
// nothing can be traced.

#include <fcntl.h>
#include <linux/limits.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>

namespace {

constexpr int kCannotTrace = 77;
constexpr int kSyscallStop = SIGTRAP | 0x80;

// Which of a call's arguments names a file: a path, from the folder in front of it on (of kPath1 and kPath3),
// or a descriptor.
enum class Names { kNothing, kPath0, kSecondPath, kPath1, kPath3, kDescriptor };

struct Kind {
  const char* name;
  Names names;
};

const std::map<uint64_t, Kind> kKinds = {
    {SYS_open, {"open", Names::kPath0}},
    {SYS_openat, {"openat", Names::kPath1}},
    {SYS_stat, {"stat", Names::kPath0}},
    {SYS_lstat, {"lstat", Names::kPath0}},
    {SYS_newfstatat, {"newfstatat", Names::kPath1}},
    {SYS_statx, {"statx", Names::kPath1}},
    {SYS_access, {"access", Names::kPath0}},
    {SYS_readlink, {"readlink", Names::kPath0}},
    {SYS_mkdir, {"mkdir", Names::kPath0}},
    {SYS_mkdirat, {"mkdirat", Names::kPath1}},
    {SYS_rmdir, {"rmdir", Names::kPath0}},
    {SYS_unlink, {"unlink", Names::kPath0}},
    {SYS_unlinkat, {"unlinkat", Names::kPath1}},
    {SYS_rename, {"rename", Names::kSecondPath}},
    {SYS_renameat, {"renameat", Names::kPath3}},
    {SYS_renameat2, {"renameat2", Names::kPath3}},
    {SYS_truncate, {"truncate", Names::kPath0}},
    {SYS_ftruncate, {"ftruncate", Names::kDescriptor}},
    {SYS_read, {"read", Names::kDescriptor}},
    {SYS_pread64, {"pread64", Names::kDescriptor}},
    {SYS_write, {"write", Names::kDescriptor}},
    {SYS_pwrite64, {"pwrite64", Names::kDescriptor}},
    {SYS_fstat, {"fstat", Names::kDescriptor}},
    {SYS_fsync, {"fsync", Names::kDescriptor}},
    {SYS_fdatasync, {"fdatasync", Names::kDescriptor}},
    {SYS_fcntl, {"fcntl", Names::kDescriptor}},
    {SYS_getdents64, {"getdents64", Names::kDescriptor}},
    {SYS_lseek, {"lseek", Names::kDescriptor}},
    {SYS_close, {"close", Names::kDescriptor}},
    {SYS_clone, {"clone", Names::kNothing}},
    {SYS_clone3, {"clone3", Names::kNothing}},
    {SYS_exit, {"exit", Names::kNothing}},
    {SYS_getpid, {"getpid", Names::kNothing}},
    {SYS_rt_sigprocmask, {"rt_sigprocmask", Names::kNothing}},
};

const std::set<uint64_t> kByChance = {SYS_futex,
                                      SYS_sched_yield,
                                      SYS_brk,
                                      SYS_mmap,
                                      SYS_munmap,
                                      SYS_mremap,
                                      SYS_mprotect,
                                      SYS_madvise,
                                      SYS_poll,
                                      SYS_ppoll,
                                      SYS_epoll_wait,
                                      SYS_nanosleep,
                                      SYS_clock_nanosleep,
                                      SYS_sendto,
                                      SYS_sendmsg,
                                      SYS_recvfrom,
                                      SYS_recvmsg,
                                      SYS_select,
                                      SYS_pselect6,
                                      SYS_restart_syscall,
                                      SYS_rt_sigreturn,
                                      SYS_getrusage,
                                      SYS_rseq,
                                      SYS_sigaltstack};
const std::set<uint64_t> kLooks = {SYS_stat, SYS_lstat, SYS_newfstatat, SYS_statx, SYS_access};

std::string path_at(pid_t thread, uint64_t address) {
  std::string path(PATH_MAX, '\0');
  // Page by page: the one behind the path's end need not be there.
  for (size_t got = 0; got < path.size();) {
    iovec here{path.data() + got, std::min(path.size() - got, size_t(4096 - (address + got) % 4096))};
    iovec there{reinterpret_cast<void*>(address + got), here.iov_len};
    const ssize_t n = process_vm_readv(thread, &here, 1, &there, 1, 0);
    if (n <= 0) break;
    got += size_t(n);
    if (const size_t end = path.find('\0'); end < got) return path.substr(0, end);
  }
  return "?";
}

std::string path_of(pid_t thread, uint64_t descriptor) {
  std::string path(PATH_MAX, '\0');
  const std::string link = "/proc/" + std::to_string(thread) + "/fd/" + std::to_string(int(descriptor));
  const ssize_t n = readlink(link.c_str(), path.data(), path.size());
  return n < 0 ? "?" : path.substr(0, size_t(n));
}

// Of calls that take a path from a folder on; an empty one is the folder's, or the file's, own.
std::string path_in(pid_t thread, uint64_t folder, uint64_t address) {
  const std::string path = path_at(thread, address);
  if (path.starts_with("/") || int(folder) == AT_FDCWD) return path;
  return path.empty() ? path_of(thread, folder) : path_of(thread, folder) + "/" + path;
}

struct Call {
  uint64_t number = 0;
  std::string path;
  bool creates = false, writes = false;

  std::string line() const {
    const auto kind = kKinds.find(number);
    return (kind == kKinds.end() ? "call " + std::to_string(number) : kind->second.name) + " " + path;
  }
};

Call call_of(pid_t thread, const __ptrace_syscall_info& stop) {
  const auto& words = stop.entry.args;
  Call call;
  call.number = stop.entry.nr;
  const auto kind = kKinds.find(call.number);
  switch (kind == kKinds.end() ? Names::kNothing : kind->second.names) {
    case Names::kNothing:
      break;
    case Names::kPath0:
      call.path = path_at(thread, words[0]);
      break;
    case Names::kSecondPath:
      call.path = path_at(thread, words[1]);
      break;
    case Names::kPath1:
      call.path = path_in(thread, words[0], words[1]);
      break;
    case Names::kPath3:
      call.path = path_in(thread, words[2], words[3]);
      break;
    case Names::kDescriptor:
      call.path = path_of(thread, words[0]);
      break;
  }
  call.creates = call.number == SYS_openat && (words[2] & O_TRUNC) != 0;
  call.writes = call.number == SYS_write || call.number == SYS_pwrite64;
  return call;
}

// Which calls count, and when the time has come.
class Counter {
 public:
  Counter(std::string folder, const std::string& file, long nth, const std::string& until, long at,
          const char* list)
      : folder_(folder + "/"),
        file_(folder_ + file),
        until_(until.empty() ? "" : folder_ + until),
        nth_(nth),
        at_(at),
        list_(list) {}

  // True: it is to be killed at this call.
  bool come(pid_t thread, const __ptrace_syscall_info& stop) {
    if (closed_ || (opener_ && thread != counted_) || kByChance.contains(stop.entry.nr)) return false;
    Call call = call_of(thread, stop);
    const auto at = [&](const std::string& file) {
      return (call.writes || call.creates) && call.path == file;
    };
    if (!opener_ && (!at(file_) || ++seen_ < nth_)) return false;
    if (opener_ && at(until_)) return !(closed_ = true);
    if (!opener_) opener_ = counted_ = thread;
    if (!until_.empty() && !call.path.starts_with(folder_)) return false;
    const bool again = kLooks.contains(call.number) && call.number == last_.number && call.path == last_.path;
    last_ = call;
    if (again) return false;
    ++count_;
    if (at_ == 0 || count_ == at_) list_ << call.line() << std::endl;
    return count_ == at_;
  }

  void made(pid_t by, pid_t thread) {
    if (until_.empty() && opener_ && by == opener_ && counted_ == opener_) counted_ = thread;
  }

  void ended(pid_t thread) { closed_ = closed_ || (opener_ && thread == counted_); }
  bool closed() const { return closed_; }

 private:
  const std::string folder_, file_, until_;
  const long nth_;
  const long at_;
  std::ofstream list_;
  long seen_ = 0, count_ = 0;
  pid_t opener_ = 0, counted_ = 0;
  bool closed_ = false;
  Call last_;
};

void kill_all(pid_t program) {
  kill(program, SIGKILL);
  std::istringstream also(getenv("KILL_ALSO") ? getenv("KILL_ALSO") : "");
  for (pid_t pid; also >> pid;) kill(pid, SIGKILL);
}

[[noreturn]] void end_like(int status) {
  if (!WIFSIGNALED(status)) exit(WEXITSTATUS(status));
  signal(WTERMSIG(status), SIG_DFL);
  kill(getpid(), WTERMSIG(status));
  exit(128 + WTERMSIG(status));
}

pid_t start(char** words) {
  const pid_t program = fork();
  if (program == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kCannotTrace);
    raise(SIGSTOP);
    execvp(words[0], words);
    perror(words[0]);
    _exit(127);
  }
  int status = 0;
  waitpid(program, &status, 0);
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  if (!WIFSTOPPED(status) || ptrace(PTRACE_SETOPTIONS, program, nullptr, options) != 0) {
    fprintf(stderr, "kill_at_call: nothing can be traced here\n");
    kill(program, SIGKILL);
    exit(kCannotTrace);
  }
  return program;
}

// The signal that the thread is to be given when it goes on.
int stopped(Counter& counter, pid_t program, pid_t thread, int status) {
  const int signal = WSTOPSIG(status), event = status >> 16;
  if (signal == kSyscallStop) {
    __ptrace_syscall_info info{};
    ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info);
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY && counter.come(thread, info)) kill_all(program);
    return 0;
  }
  if (event == PTRACE_EVENT_CLONE) {
    unsigned long made = 0;
    ptrace(PTRACE_GETEVENTMSG, thread, nullptr, &made);
    counter.made(thread, pid_t(made));
  }
  return event != 0 || signal == SIGSTOP ? 0 : signal;  // a new thread begins with SIGSTOP
}

}  // namespace

int main(int count, char** words) {
  if (count < 8) return 2;
  Counter counter(words[1], words[2], atol(words[3]), words[4], atol(words[5]), words[6]);
  const pid_t program = start(words + 7);
  ptrace(PTRACE_SYSCALL, program, nullptr, nullptr);
  for (int status = 0;;) {
    const pid_t thread = waitpid(-1, &status, __WALL);
    if (thread < 0) return kCannotTrace;
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      counter.ended(thread);
      if (thread == program) end_like(status);
      continue;
    }
    const int signal = stopped(counter, program, thread, status);
    ptrace(counter.closed() ? PTRACE_CONT : PTRACE_SYSCALL, thread, nullptr, signal);
  }
}
