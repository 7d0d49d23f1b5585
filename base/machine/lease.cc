#include "base/machine/lease.h"

#include <fcntl.h>
#include <sys/file.h>

#include <filesystem>
#include <thread>

#include "base/error.h"

namespace temper {
namespace {

constexpr double kPatience_s = 300;
constexpr auto kRetry = std::chrono::milliseconds(2);

}  // namespace

Fd lease(const std::string& part) {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("temper-{}-{}.lock", ::geteuid(), part);
  Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock) throw system_error(fmt::format("open {}", path.string()));
  const double start = now_s();
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) throw system_error(fmt::format("lock {}", path.string()));
    if (now_s() - start > kPatience_s)
      throw WorldError("{} is held by another process of Temper ({})", part, path.string());
    std::this_thread::sleep_for(kRetry);
  }
  return lock;
}

}  // namespace temper
