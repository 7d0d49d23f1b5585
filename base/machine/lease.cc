#include "base/machine/lease.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/files.h"

namespace temper {
namespace {

constexpr int64_t kSay_s = 10, kSayAgain_s = 60;
constexpr double kTurn_s = 1;         // that one who waits is let go first
constexpr double kSharedTurn_s = 60;  // by those who could share it for ever
constexpr auto kRetry = std::chrono::milliseconds(2);
constexpr size_t kHolderBytes = 200;

std::filesystem::path lock_folder() {
  std::error_code error;
  const auto folder = std::filesystem::temp_directory_path(error);
  if (!error) return folder;
  const char* chosen = std::getenv("TMPDIR");
  throw WorldError("TMPDIR: {} cannot be used: {}", chosen ? chosen : "/tmp", error.message());
}

Fd open_lock(const std::string& part) {
  const auto path = lease_file(part);
  Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock) throw system_error(fmt::format("open {}", path.string()));
  return lock;
}

bool try_lock(const Fd& lock, const std::string& part, LeaseKind kind = LeaseKind::kAlone) {
  const int operation = kind == LeaseKind::kAlone ? LOCK_EX : LOCK_SH;
  if (::flock(lock.get(), operation | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK || errno == EINTR) return false;
  throw system_error(fmt::format("lock {}", lease_file(part).string()));
}

std::string printable(std::string text) {
  std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~'; }, ' ');
  text.resize(std::min(text.size(), kHolderBytes));
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// What others read while this process holds the lock; where it cannot be written they know no more than that.
void sign(const Fd& lock) {
  static const std::string command = [] {
    try {
      return printable(read_file("/proc/self/cmdline"));
    } catch (const std::exception&) {
      return std::string("?");
    }
  }();
  const std::string text = fmt::format("pid {} ({})", ::getpid(), command);
  if (::ftruncate(lock.get(), 0) != 0) return;
  [[maybe_unused]] const ssize_t written = ::pwrite(lock.get(), text.data(), text.size(), 0);
}

void say(const LeaseWait& wait) {
  if (!says_wait_now(wait.waited_s())) return;
  fmt::print(stderr, "waiting for {}, which is held by {}, for {:.0f} s\n", wait.part(), wait.holder(),
             wait.waited_s());
}

LeaseListener& listener_of_all() {
  static LeaseListener listener = say;
  return listener;
}

}  // namespace

LeaseWait::LeaseWait(std::string part, LeaseKind kind)
    : part_(std::move(part)),
      kind_(kind),
      start_s_(now_s()),
      lock_(open_lock(part_)),
      turn_(open_lock(part_ + "-turn")) {}

Fd LeaseWait::try_now() {
  if (!has_turn_) has_turn_ = try_lock(turn_, part_);
  if (!has_turn_ && waited_s() < (kind_ == LeaseKind::kShared ? kSharedTurn_s : kTurn_s)) return {};
  if (!try_lock(lock_, part_, kind_)) return {};
  sign(lock_);
  turn_ = Fd();
  return std::move(lock_);
}

std::string LeaseWait::holder() const {
  std::array<char, kHolderBytes> text{};
  const ssize_t n = lock_ ? ::pread(lock_.get(), text.data(), text.size(), 0) : 0;
  return n > 0 ? printable({text.data(), size_t(n)}) : "a process that did not identify itself";
}

static Fd wait_for(LeaseWait wait, const std::function<bool()>& give_up, const LeaseListener& listener) {
  int64_t told_s = 0;
  for (;;) {
    if (Fd lock = wait.try_now()) return lock;
    if (give_up()) return {};
    if (const auto seconds = int64_t(wait.waited_s()); seconds > std::exchange(told_s, seconds))
      (listener ? listener : listener_of_all())(wait);
    std::this_thread::sleep_for(kRetry);
  }
}

Fd lease(const std::string& part, const std::function<bool()>& give_up, const LeaseListener& listener) {
  return wait_for(LeaseWait(part), give_up, listener);
}

std::filesystem::path lease_file(const std::string& part) {
  return lock_folder() / fmt::format("temper-{}-{}.lock", ::geteuid(), part);
}

Fd lease(const std::string& part, LeaseKind kind) {
  Fd lock = wait_for(LeaseWait(part, kind), interrupted, {});
  if (!lock) throw WorldError("interrupted while another process held {}", part);
  return lock;
}

void listen_to_leases(LeaseListener listener) { listener_of_all() = std::move(listener); }

bool says_wait_now(double waited_s) {
  const auto since = int64_t(waited_s) - kSay_s;
  return since >= 0 && since % kSayAgain_s == 0;
}

}  // namespace temper
