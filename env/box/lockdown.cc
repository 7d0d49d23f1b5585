#include "env/box/lockdown.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "env/box/namespaces.h"

namespace temper::env {
namespace {

// A child sets its limits before it becomes another program. Until then its code is the parent's, and the
// memory that a sanitizer reserves is larger than any limit on addresses.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitsAddresses = false;
#else
constexpr bool kLimitsAddresses = true;
#endif

void check(int result, std::string_view what) {
  if (result != 0) throw system_error(what);
}

void limit(__rlimit_resource resource, int64_t value, std::string_view name) {
  const rlimit both{rlim_t(value), rlim_t(value)};
  check(::setrlimit(resource, &both), fmt::format("limit {} to {}", name, value));
}

bool drop_user(uid_t uid) {
  if (::geteuid() != 0) return false;
  if (::setgroups(0, nullptr) != 0) return false;  // a user namespace of one user: nobody else to become
  if (::setresgid(uid, uid, uid) != 0) return false;
  check(::setresuid(uid, uid, uid), "drop the user");
  return true;
}

}  // namespace

void limit_addresses(int64_t bytes) {
  if (kLimitsAddresses) limit(RLIMIT_AS, bytes, "address space");
}

void apply_limits(const Limits& limits) {
  if (limits.memory_bytes > 0) limit_addresses(limits.memory_bytes);
  if (limits.data_bytes > 0) limit(RLIMIT_DATA, limits.data_bytes, "data");
  limit(RLIMIT_CPU, limits.cpu_s, "CPU time");
  limit(RLIMIT_FSIZE, limits.file_bytes, "file size");
  limit(RLIMIT_NOFILE, limits.open_files, "open files");
  limit(RLIMIT_NPROC, limits.processes, "processes");
  limit(RLIMIT_STACK, limits.stack_bytes, "stack");
  limit(RLIMIT_CORE, 0, "core dumps");
  limit(RLIMIT_MEMLOCK, 0, "locked memory");
  errno = 0;  // -1 is a priority, too
  if (::nice(limits.niceness) == -1 && errno != 0) throw system_error("lower the priority");
}

bool drop_privileges(uid_t uid) {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability)
    ::prctl(PR_CAPBSET_DROP, capability);
  const bool dropped = drop_user(uid);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  check(int(::syscall(SYS_capset, &header, none)), "give up capabilities");
  check(::prctl(PR_SET_DUMPABLE, 0), "become undumpable");
  check(::prctl(PR_SET_PDEATHSIG, SIGKILL), "end with the parent");  // a change of user forgets it
  check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "forbid new privileges");
  return dropped;
}

void keep_only_capabilities(std::initializer_list<int> kept) {
  const auto keeps = [&](int capability) { return std::ranges::count(kept, capability) > 0; };
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability)
    if (!keeps(capability)) ::prctl(PR_CAPBSET_DROP, capability);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  for (const int capability : kept) {
    data[capability / 32].effective |= 1u << (capability % 32);
    data[capability / 32].permitted = data[capability / 32].effective;
  }
  check(int(::syscall(SYS_capset, &header, data)), "give up capabilities");
  check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "forbid new privileges");
}

std::string first_open_door(const std::vector<std::string>& hidden) {
  const auto opened = [](int fd) { return fd >= 0 && ::close(fd) == 0; };
  if (opened(::socket(AF_INET, SOCK_STREAM, 0))) return "an internet socket";
  if (opened(::socket(AF_UNIX, SOCK_STREAM, 0))) return "a local socket";
  for (const std::string& path : hidden)
    if (opened(::open(path.c_str(), O_RDONLY))) return fmt::format("reading {}", path);
  if (opened(::open("/probe", O_CREAT | O_WRONLY, 0600))) return "creating a file";
  if (opened(int(::syscall(SYS_memfd_create, "probe", 0)))) return "creating a memory file";
  if (::kill(1, 0) == 0) return "sending signals";
  if (::setpriority(PRIO_PROCESS, 0, 0) == 0) return "changing priorities";
  if (::prctl(PR_SET_DUMPABLE, 1) == 0) return "changing the process's attributes";
  return "";
}

std::string first_call_not_killed() {
  const std::pair<const char*, int (*)()> calls[] = {
      {"making a process", [] { return int(::fork() == 0); }},
      {"tracing", [] { return int(::ptrace(PTRACE_TRACEME, 0, 0, 0)); }},
      {"executing a program", [] { return ::execl("/bin/true", "true", nullptr); }},
      {"a new namespace", [] { return ::unshare(CLONE_NEWUSER); }},
  };
  for (const auto& [name, call] : calls) {
    auto box = BoxProcess::start([&] {
      drop_privileges(0);
      allow_only_candidate_calls();
      return call();
    });
    const auto status = box.wait(std::chrono::seconds(10));
    if (!status || describe_wait_status(*status) != "forbidden_call") return name;
  }
  return "";
}

}  // namespace temper::env
