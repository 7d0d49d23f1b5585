#include "base/machine/output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>

#include "base/error.h"

namespace temper {
namespace {

constexpr size_t kMostWaiting = 16 << 20;  // bytes
constexpr double kPatience_s = 1;          // of who was interrupted, for a reader
constexpr int kLook_ms = 100;

mode_t kind_of(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

// Whether a pipe or a terminal waits for room belongs to what was opened, which other programs share.
Fd open_anew(int fd) {
  if (kind_of(fd) != S_IFIFO && !::isatty(fd)) return {};
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  return Fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

bool takes_more(int fd, int wait_ms) {
  pollfd out{fd, POLLOUT, 0};
  return ::poll(&out, 1, wait_ms) > 0;
}

// What goes out at once: lines that fit. A pipe takes so much whole or not at all, so that lines of another
// writer to it come before or after.
std::string_view whole_lines(std::string_view text) {
  const std::string_view fits = text.substr(0, PIPE_BUF);
  const size_t end = fits.rfind('\n');
  return end == fits.npos ? fits : fits.substr(0, end + 1);
}

FILE* stream_over(Outlet& outlet) {
  cookie_io_functions_t functions{};
  functions.write = [](void* cookie, const char* text, size_t size) -> ssize_t {
    return static_cast<Outlet*>(cookie)->write({text, size}) ? ssize_t(size) : 0;
  };
  FILE* const stream = ::fopencookie(&outlet, "w", functions);
  if (stream == nullptr) throw system_error("open standard output");
  return stream;
}

// Never destroyed: what ends a process prints too.
Outlet *g_output = nullptr, *g_errors = nullptr;

}  // namespace

Outlet::Outlet(int fd, std::function<double()> clock)
    : fd_(fd), clock_(std::move(clock)), own_(open_anew(fd)), socket_(kind_of(fd) == S_IFSOCK) {}

Outlet::~Outlet() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  more_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// How much the descriptor took, 0 where it takes nothing now; below 0: −errno.
ssize_t Outlet::write_some(std::string_view text) const {
  text = whole_lines(text);
  ssize_t written = 0;
  if (socket_) {
    written = ::send(fd_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  } else if (own_) {
    written = ::write(own_.get(), text.data(), text.size());
  } else {
    if (!takes_more(fd_, 0)) return 0;  // a pipe that does has room for as much as is written here
    written = ::write(fd_, text.data(), text.size());
  }
  if (written >= 0) return written;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -errno;
}

// Takes off the front of the text what was written. False: the rest is lost.
bool Outlet::write_now(std::string_view& text) {
  while (!text.empty()) {
    const ssize_t written = write_some(text);
    if (written == 0) return true;
    if (written < 0) return lose(int(-written));
    text.remove_prefix(size_t(written));
    moved_s_ = clock_();
  }
  return true;
}

bool Outlet::lose(int error) {
  waiting_.clear();
  begin_ = 0;
  if (lost_ == 0) lost_ = error;
  less_.notify_all();
  errno = error;
  return false;
}

bool Outlet::write(std::string_view text) {
  std::unique_lock lock(mutex_);
  if (waiting() == 0 && !write_now(text)) return false;
  if (text.empty()) return true;
  if (!wait_until(lock, kMostWaiting, true)) return lose(EINTR);
  if (waiting() == 0) moved_s_ = clock_();
  waiting_ += text;
  if (!thread_.joinable()) thread_ = std::thread([this] { write_what_waits(); });
  more_.notify_one();
  return true;
}

// Until no more than that waits. False: patience is over, and nobody reads.
bool Outlet::wait_until(std::unique_lock<std::mutex>& lock, size_t most, bool patient) {
  double since_s = clock_();
  while (waiting() > most) {
    less_.wait_for(lock, std::chrono::milliseconds(kLook_ms));
    if (patient && !interrupted()) since_s = clock_();
    if (clock_() - std::max(since_s, moved_s_) > kPatience_s) return false;
  }
  return true;
}

int Outlet::finish(bool patient) {
  std::unique_lock lock(mutex_);
  if (!wait_until(lock, 0, patient)) lose(EINTR);
  return lost_;
}

bool Outlet::behind() const {
  const std::lock_guard lock(mutex_);
  return waiting() > 0;
}

void Outlet::write_what_waits() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (waiting() == 0) {
      more_.wait(lock);
      continue;
    }
    lock.unlock();
    const bool ready = takes_more(own_ ? own_.get() : fd_, kLook_ms);
    lock.lock();
    if (!ready || waiting() == 0) continue;
    std::string_view text = std::string_view(waiting_).substr(begin_);
    if (!write_now(text)) continue;
    begin_ = waiting_.size() - text.size();
    if (waiting() == 0 || begin_ > kMostWaiting) waiting_.erase(0, std::exchange(begin_, 0));
    less_.notify_all();
  }
}

void begin_output() {
  g_output = new Outlet(STDOUT_FILENO);
  g_errors = new Outlet(STDERR_FILENO);
  stdout = stream_over(*g_output);
  stderr = stream_over(*g_errors);
  std::setvbuf(stdout, nullptr, ::isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
  std::setvbuf(stderr, nullptr, _IONBF, 0);
}

OutputEnd finish_output(bool patient) {
  std::fflush(stdout);
  std::fflush(stderr);
  OutputEnd end;
  if (g_output) end.output = g_output->finish(patient);
  if (g_errors) end.errors = g_errors->finish(patient);
  return end;
}

bool errors_wait() { return g_errors && g_errors->behind(); }

}  // namespace temper
