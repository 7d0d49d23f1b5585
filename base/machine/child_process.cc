#include "base/machine/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/files.h"

namespace temper {
namespace {

constexpr int kUnknown = 255 << 8;  // the status of a child that somebody else has reaped: code 255

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  return all;
}

// All that a child does between fork and exec. Another thread may have held any lock when the process forked,
// for ever then: what needs memory is made before, and what follows is system calls alone.
class Becoming {
 public:
  explicit Becoming(const ChildProgram& program)
      : program_(program),
        argv_(pointers(program.argv)),
        sources_{program.input, program.output, program.errors} {
    TEMPER_CHECK(!program.argv.empty());
    if (program.environment) environment_ = pointers(*program.environment);
    sources_.insert(sources_.end(), program.descriptors.begin(), program.descriptors.end());
    CPU_ZERO(&cores_);
    for (const int core : program.cores) CPU_SET(core, &cores_);
  }

  // In the child. `report`: written to if it cannot become the program, with errno.
  [[noreturn]] void in_child(pid_t parent, int report) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    const int error = own_attributes() ? here(&report) : errno;
    ::_exit(::write(report, &error, sizeof error) < 0 ? 126 : 127);
  }

  // Returns errno. `report`, if any, moves to where no descriptor of the program lies.
  int here(int* report) {
    const int end = int(sources_.size());
    if (report != nullptr) {
      const int moved = ::fcntl(*report, F_DUPFD_CLOEXEC, end);
      if (moved < 0) return errno;
      *report = moved;
    }
    if (!place(end)) return errno;
    if (report != nullptr && ::dup3(*report, end, O_CLOEXEC) == end) *report = end;
    ::syscall(SYS_close_range, report != nullptr ? end + 1 : end, ~0u, 0);
    ::execve(argv_[0], argv_.data(), environment_.empty() ? ::environ : environment_.data());
    return errno;
  }

 private:
  bool own_attributes() const {
    if (program_.ignores_interrupt) ::signal(SIGINT, SIG_IGN);
    return (!program_.own_group || ::setpgid(0, 0) == 0) &&
           (program_.cores.empty() || ::sched_setaffinity(0, sizeof cores_, &cores_) == 0) &&
           (!program_.no_new_privileges || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  }

  // Source i becomes descriptor i; all first go out of the way of the numbers that they are to get.
  bool place(int end) {
    for (int i = 0; i < end; ++i) {
      if (stays(i)) continue;
      if (sources_[size_t(i)] == kNullDevice) sources_[size_t(i)] = ::open("/dev/null", O_RDWR | O_CLOEXEC);
      sources_[size_t(i)] = ::fcntl(sources_[size_t(i)], F_DUPFD_CLOEXEC, end);
      if (sources_[size_t(i)] < 0) return false;
    }
    for (int i = 0; i < end; ++i)
      if (!stays(i) && ::dup2(sources_[size_t(i)], i) < 0) return false;
    return true;
  }

  // A standard descriptor of ours, open or closed.
  bool stays(int i) const { return i <= STDERR_FILENO && sources_[size_t(i)] == i; }

  const ChildProgram& program_;
  std::vector<char*> argv_, environment_;
  std::vector<int> sources_;
  cpu_set_t cores_;
};

// The error with which a child could not become another program; 0 if it did.
int error_of_start(int pipe) {
  int error = 0;
  ssize_t n;
  do n = ::read(pipe, &error, sizeof error);
  while (n < 0 && errno == EINTR);
  return n > 0 ? error : 0;
}

std::string ending_text(int status) {
  if (WIFEXITED(status)) return fmt::format("ended with code {}", WEXITSTATUS(status));
  const char* name = ::strsignal(WTERMSIG(status));
  return fmt::format("was killed by signal {} ({})", WTERMSIG(status), name ? name : "?");
}

}  // namespace

int become(const ChildProgram& program) { return Becoming(program).here(nullptr); }

ChildProcess ChildProcess::start(const ChildProgram& program) {
  Becoming becoming(program);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) throw system_error("create a pipe");
  const Fd reading(report[0]);
  Fd writing(report[1]);
  const pid_t parent = ::getpid();
  ChildProcess child;
  child.reap_s_ = program.reap_s;
  child.pid_ = ::fork();
  if (child.pid_ == 0) becoming.in_child(parent, writing.get());
  if (child.pid_ < 0) throw system_error(fmt::format("start {}", program.argv[0]));
  writing = Fd();
  if (const int error = error_of_start(reading.get()))
    throw WorldError("cannot start {}: {}", program.argv[0], std::strerror(error));
  return child;
}

std::optional<int> ChildProcess::wait(double patience_s) {
  int status = 0;
  for (const double start = now_s(); running(); ::usleep(500)) {
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended < 0 && errno != EINTR) status = kUnknown;
    if (ended == pid_ || (ended < 0 && errno != EINTR)) {
      pid_ = -1;
      return status;
    }
    if (now_s() - start >= patience_s) return std::nullopt;
  }
  return std::nullopt;
}

void ChildProcess::signal(int number) const {
  if (running()) ::kill(pid_, number);
}

void ChildProcess::kill() {
  signal(SIGKILL);
  wait(reap_s_);
  pid_ = -1;
}

std::string ChildProcess::end(double ending_s) {
  const auto status = wait(ending_s);
  kill();
  return status ? ending_text(*status) : "";
}

Subprocess Subprocess::start(std::vector<std::string> argv) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    throw system_error("create a socket pair");
  Subprocess child;
  child.socket_ = Fd(pair[0]);
  const Fd theirs(pair[1]);
  // Ctrl-C is the parent's to handle; the child ends with its socket.
  child.process_ = ChildProcess::start(
      {.argv = std::move(argv), .descriptors = {theirs.get()}, .ignores_interrupt = true});
  return child;
}

std::string Subprocess::end(double ending_s) {
  std::string ending = process_.end(ending_s);
  socket_ = Fd();
  return ending;
}

void require_program(const std::string& path) {
  if (::access(path.c_str(), X_OK) != 0) throw WorldError("cannot start {}: {}", path, std::strerror(errno));
}

CommandOutput output_of(const std::string& command) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) throw system_error("create a pipe");
  const Fd reading(pipe[0]);
  Fd writing(pipe[1]);
  const Fd errors(::memfd_create("errors", MFD_CLOEXEC));
  if (errors.get() < 0) throw system_error("create a file in memory");
  ChildProcess shell = ChildProcess::start({.argv = {"/bin/sh", "-c", command},
                                            .input = kNullDevice,
                                            .output = writing.get(),
                                            .errors = errors.get()});
  writing = Fd();
  CommandOutput output;
  char chunk[4096];
  for (ssize_t n; (n = ::read(reading.get(), chunk, sizeof chunk)) > 0 || (n < 0 && errno == EINTR);)
    output.text.append(chunk, size_t(std::max<ssize_t>(n, 0)));
  output.ok = shell.wait(std::numeric_limits<double>::infinity()) == 0;
  output.errors = read_file(fmt::format("/proc/self/fd/{}", errors.get()));
  return output;
}

std::string shell_word(const std::string& word) {
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

}  // namespace temper
