#include "base/machine/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/error.h"

namespace temper {
namespace fs = std::filesystem;
namespace {

constexpr const char* kPlace = "/var/tmp";
constexpr const char* kLock = "lock";

// An invalid one: there is none, or somebody holds it.
Fd try_lock(const fs::path& folder, int flags) {
  Fd lock(::open((folder / kLock).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600));
  return lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(lock) : Fd();
}

bool is_ours(const fs::path& folder) {
  struct stat info {};
  return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
}

void remove_left_ones(const std::string& prefix) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(kPlace, ignored))
    if (entry.path().filename().string().starts_with(prefix) && is_ours(entry.path()) &&
        try_lock(entry.path(), 0))
      fs::remove_all(entry.path(), ignored);
}

}  // namespace

ScratchFolder::ScratchFolder(const std::string& name) {
  const std::string prefix = fmt::format("temper-{}-", name);
  remove_left_ones(prefix);
  std::string path = fmt::format("{}/{}XXXXXX", kPlace, prefix);
  if (::mkdtemp(path.data()) == nullptr) throw system_error(fmt::format("make a folder in {}", kPlace));
  path_ = path;
  lock_ = try_lock(path_, O_CREAT | O_EXCL);
  if (!lock_ || ::chmod(path.c_str(), 0755) != 0) throw system_error(fmt::format("lock {}", path));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace temper
