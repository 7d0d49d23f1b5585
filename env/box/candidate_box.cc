#include "env/box/candidate_box.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "base/error.h"
#include "env/box/lockdown.h"
#include "env/box/private_root.h"

namespace temper::env {
namespace {

constexpr int64_t kRootBytes = 8 << 20;  // the object's file lies in the private root

// The init process of a pid namespace survives abort(), so end with the code that a shell would report.
void on_abort(int) { ::_exit(128 + SIGABRT); }

}  // namespace

CandidateBox lock_up(int64_t memory_bytes, int64_t cpu_s, uid_t user) {
  enter_private_root(kRootBytes, {});
  CandidateBox box;
  box.object = Fd(::open(kCandidateObject, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644));
  if (!box.object) throw system_error("create the object's file");
  apply_limits({.memory_bytes = memory_bytes, .cpu_s = cpu_s, .file_bytes = kRootBytes, .open_files = 32});
  box.user_dropped = drop_privileges(user);
  // Later it would look like the candidate's fault.
  if (::access(kCandidateObject, R_OK) != 0) throw system_error("read the object's file in the sandbox");
  ::signal(SIGABRT, on_abort);
  allow_only_candidate_calls();
  const std::string door = first_open_door();
  if (!door.empty()) throw WorldError("the sandbox does not hold: {} works", door);
  return box;
}

void* load_object(Fd file, const uint8_t* object, int64_t bytes, std::string& error) {
  if (::write(file.get(), object, size_t(bytes)) != bytes) ::_exit(1);
  file = Fd();
  void* library = ::dlopen(kCandidateObject, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* said = ::dlerror();
  std::string_view words = said != nullptr ? said : "cannot be loaded";
  if (words.starts_with(kCandidateObject))
    words.remove_prefix(std::strlen(kCandidateObject) + std::strlen(": "));
  error = words;
  return nullptr;
}

}  // namespace temper::env
