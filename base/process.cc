#include "base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace temper {
namespace {

constexpr uint32_t kMaxMessageBytes = 64u << 20;
constexpr int kChildSocket = 3;

bool send_all(int socket, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = ::send(socket, data, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= size_t(n);
  }
  return true;
}

bool receive_all(int socket, char* data, size_t size, std::chrono::steady_clock::time_point deadline,
                 bool forever) {
  while (size > 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd poll_fd{socket, POLLIN, 0};
    const int ready = ::poll(&poll_fd, 1, forever ? -1 : int(std::max<int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t n = ::recv(socket, data, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= size_t(n);
  }
  return true;
}

std::atomic<int> g_interrupts{0};  // signals
std::atomic<bool> g_told{false};   // without one

void on_interrupt(int) {
  if (g_interrupts.fetch_add(1) > 0) ::_exit(kExitInterrupted);
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
  int error = 0;
  if (::read(status_read.get(), &error, sizeof error) > 0)
    throw WorldError("cannot start {}: {}", argv[0], std::strerror(error));
  return child;
}

Subprocess::~Subprocess() { kill(); }

void Subprocess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  socket_ = Fd();
}

bool send_message(int socket, const std::string& message) {
  const uint32_t size = uint32_t(message.size());
  return message.size() <= kMaxMessageBytes &&
         send_all(socket, reinterpret_cast<const char*>(&size), sizeof size) &&
         send_all(socket, message.data(), message.size());
}

std::optional<std::string> receive_message(int socket, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const bool forever = timeout.count() < 0;
  uint32_t size = 0;
  if (!receive_all(socket, reinterpret_cast<char*>(&size), sizeof size, deadline, forever))
    return std::nullopt;
  if (size > kMaxMessageBytes) return std::nullopt;
  std::string message(size, '\0');
  if (!receive_all(socket, message.data(), size, deadline, forever)) return std::nullopt;
  return message;
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

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace temper
