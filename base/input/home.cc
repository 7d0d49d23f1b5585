#include "base/input/home.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "base/input/printable.h"

namespace temper {
namespace {

// Empty: there is no such user. An empty name stands for the user who runs this program.
std::string home_of(const std::string& user) {
  constexpr size_t kBytes = 1 << 16;
  std::vector<char> memory(kBytes);
  passwd entry{}, *found = nullptr;
  if (user.empty())
    ::getpwuid_r(::getuid(), &entry, memory.data(), memory.size(), &found);
  else
    ::getpwnam_r(user.c_str(), &entry, memory.data(), memory.size(), &found);
  return found && found->pw_dir ? found->pw_dir : "";
}

}  // namespace

std::string expand_home(const std::string& path) {
  if (!path.starts_with("~")) return path;
  const size_t end = std::min(path.find('/'), path.size());
  const std::string user = path.substr(1, end - 1);
  const char* const home = user.empty() ? std::getenv("HOME") : nullptr;
  const std::string folder = home && *home ? home : home_of(user);
  if (folder.empty() && user.empty())
    throw ConfigError("'{}': there is no home folder: HOME is not set; ./~ names a folder called ~",
                      printable(path));
  if (folder.empty())
    throw ConfigError("'{}': there is no user {} on this machine; ./~{} names a folder called so",
                      printable(path), printable(user), printable(user));
  return folder + path.substr(end);
}

}  // namespace temper
