#include "base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/error.h"

namespace temper {
namespace {

constexpr int kChildSocket = 3;

std::atomic<int> g_interrupts{0};  // signals
std::atomic<bool> g_told{false};   // without one

// A child that the kernel holds on to (a driver, a lost file system) is not waited for longer than this.
constexpr double kReap_s = 2, kEnding_s = 0.05;

void on_interrupt(int) {
  if (g_interrupts.fetch_add(1) > 0) ::_exit(kExitInterrupted);
}

// The error with which a child could not become another program; 0 if it did.
int error_of_start(int pipe) {
  int error = 0;
  ssize_t n;
  do n = ::read(pipe, &error, sizeof error);
  while (n < 0 && errno == EINTR);
  return n > 0 ? error : 0;
}

// Its wait status, once it has ended within so many seconds.
std::optional<int> wait_status(pid_t pid, double patience_s) {
  int status = 0;
  for (const double start = now_s();; ::usleep(500)) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) return status;
    if (ended < 0 && errno != EINTR) return 0;
    if (now_s() - start >= patience_s) return std::nullopt;
  }
}

std::string ending_text(int status) {
  if (WIFEXITED(status)) return fmt::format("ended with code {}", WEXITSTATUS(status));
  const char* name = ::strsignal(WTERMSIG(status));
  return fmt::format("was killed by signal {} ({})", WTERMSIG(status), name ? name : "?");
}

}  // namespace

Subprocess Subprocess::start(const std::vector<std::string>& argv) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    throw system_error("create a socket pair");
  Fd ours(pair[0]), theirs(pair[1]);
  int status_pipe[2];
  if (::pipe2(status_pipe, O_CLOEXEC) != 0) throw system_error("create a pipe");
  const Fd status_read(status_pipe[0]);
  Fd status_write(status_pipe[1]);

  std::vector<char*> arguments;
  for (const auto& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw system_error(fmt::format("start {}", argv[0]));
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::signal(SIGINT, SIG_IGN);  // Ctrl-C is the parent's to handle; the child ends with its socket.
    if (theirs.get() == kChildSocket)
      ::fcntl(kChildSocket, F_SETFD, 0);
    else
      ::dup2(theirs.get(), kChildSocket);
    ::execv(arguments[0], arguments.data());
    const int error = errno;
    if (::write(status_write.get(), &error, sizeof error) < 0) ::_exit(126);
    ::_exit(127);
  }
  Subprocess child;
  child.pid_ = pid;
  child.socket_ = std::move(ours);
  status_write = Fd();
  if (const int error = error_of_start(status_read.get()))
    throw WorldError("cannot start {}: {}", argv[0], std::strerror(error));
  return child;
}

Subprocess::~Subprocess() { kill(); }

void Subprocess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  wait_status(pid_, kReap_s);
  pid_ = -1;
  socket_ = Fd();
}

std::string Subprocess::end() {
  if (pid_ <= 0) return "";
  const auto status = wait_status(pid_, kEnding_s);
  if (status) pid_ = -1;
  kill();
  socket_ = Fd();
  return status ? ending_text(*status) : "";
}

void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() { return g_interrupts.load(std::memory_order_relaxed) > 0 || g_told; }

void interrupt() { g_told = true; }

void forget_interrupt() {
  g_interrupts = 0;
  g_told = false;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace temper
