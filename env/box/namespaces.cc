#include "env/box/namespaces.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <fstream>

#include "base/error.h"

namespace temper::env {
namespace {

constexpr uint64_t kNamespaces = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

bool may_make_namespaces() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  return ::syscall(SYS_capget, &header, data) == 0 && (data[0].effective >> CAP_SYS_ADMIN & 1);
}

void write_proc(const char* path, const std::string& text) {
  const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) != ssize_t(text.size()))
    throw namespace_error(fmt::format("write {}", path));
}

// Root inside, ourselves outside.
void map_user(uid_t uid, gid_t gid) {
  write_proc("/proc/self/setgroups", "deny");
  write_proc("/proc/self/uid_map", fmt::format("0 {} 1", uid));
  write_proc("/proc/self/gid_map", fmt::format("0 {} 1", gid));
}

void write_text(int file, std::string_view text) { (void)!::write(file, text.data(), text.size()); }

[[noreturn]] void run_child(const std::function<int()>& body) {
  int status = 125;
  try {
    status = body();
  } catch (const std::exception& e) {
    write_text(STDERR_FILENO, e.what());
  }
  ::_exit(status);
}

// Says on `report` what went wrong, or closes it.
void enter_user_namespace(uid_t uid, gid_t gid, Fd report) {
  try {
    map_user(uid, gid);
  } catch (const std::exception& e) {
    write_text(report.get(), e.what());
    ::_exit(125);
  }
}

std::string read_all(int file) {
  std::string text;
  char chunk[512];
  for (ssize_t n; (n = ::read(file, chunk, sizeof chunk)) > 0;) text.append(chunk, size_t(n));
  return text;
}

// Of the process behind that descriptor, as our own /proc numbers it; 0 or less if it is not among them.
pid_t pid_behind(int pidfd) {
  std::ifstream information(fmt::format("/proc/self/fdinfo/{}", pidfd));
  constexpr std::string_view kMark = "Pid:";
  for (std::string line; std::getline(information, line);)
    if (line.starts_with(kMark)) return pid_t(std::atoi(line.c_str() + kMark.size()));
  return -1;
}

std::string setting(const char* path) {
  std::string value;
  std::ifstream(path) >> value;
  return value;
}

bool in_first_user_namespace() {
  uint64_t inside = 1, outside = 1, count = 0;
  std::ifstream("/proc/self/uid_map") >> inside >> outside >> count;
  return inside == 0 && outside == 0 && count == 0xFFFFFFFF;
}

// The kernel setting that forbids namespaces, or "".
std::string advice(int error) {
  const bool no_users = setting("/proc/sys/user/max_user_namespaces") == "0";
  if (error == ENOSPC && !no_users)
    return "; the limit on namespaces is reached: have an administrator raise it, see sysctl -a -r "
           "'^user.max_.*_namespaces'";
  if (may_make_namespaces() && in_first_user_namespace()) return "";
  if (setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1")
    return "; unprivileged user namespaces are restricted here: have an administrator run\n"
           "  sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\n"
           "or run as root";
  if (setting("/proc/sys/kernel/unprivileged_userns_clone") == "0")
    return "; have an administrator run sysctl -w kernel.unprivileged_userns_clone=1, or run as root";
  if (no_users) return "; have an administrator run sysctl -w user.max_user_namespaces=10000, or run as root";
  return "; in a container, allow it to make namespaces (docker run --privileged, or "
         "--cap-add SYS_ADMIN --security-opt seccomp=unconfined)";
}

}  // namespace

WorldError namespace_error(const std::string& what) {
  const int error = errno;
  return WorldError("cannot {}: {}{}", what, std::strerror(error), advice(error));
}

std::string describe_wait_status(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) return "forbidden_call";
  if (WIFSIGNALED(status)) return fmt::format("signal_{}", WTERMSIG(status));
  return fmt::format("exit_{}", WEXITSTATUS(status));
}

BoxProcess BoxProcess::start(const std::function<int()>& body) {
  const bool own_user = !may_make_namespaces();
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  int pidfd = -1, report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) throw system_error("create a pipe");
  Fd reading(report[0]), writing(report[1]);
  clone_args arguments{};
  arguments.flags = kNamespaces | CLONE_PIDFD | (own_user ? CLONE_NEWUSER : 0);
  arguments.pidfd = uint64_t(&pidfd);
  arguments.exit_signal = SIGCHLD;
  const pid_t pid = pid_t(::syscall(SYS_clone3, &arguments, sizeof arguments));
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::umask(S_IWGRP | S_IWOTH);  // another user reads what is made in the box, whatever we were started with
    if (own_user) enter_user_namespace(uid, gid, std::move(writing));
    run_child(body);
  }
  if (pid < 0) throw namespace_error("make a sandbox's namespaces");
  BoxProcess process;
  process.pid_ = pid;
  process.pidfd_ = Fd(pidfd);
  writing = Fd();
  const std::string failed = own_user ? read_all(reading.get()) : "";
  if (!failed.empty()) throw WorldError("{}", failed);
  return process;
}

BoxProcess BoxProcess::adopt(Fd pidfd, std::function<std::optional<int>()> status) {
  BoxProcess process;
  process.pid_ = pid_behind(pidfd.get());
  if (process.pid_ <= 0) throw WorldError("a process that another one has forked is not seen here");
  process.pidfd_ = std::move(pidfd);
  process.status_ = std::move(status);
  return process;
}

// Of one that has ended.
std::optional<int> BoxProcess::reap() {
  std::optional<int> status;
  if (status_) {
    status = status_();
  } else {
    status = 0;
    while (::waitpid(pid_, &*status, 0) < 0 && errno == EINTR) {
    }
  }
  pidfd_ = Fd();
  pid_ = -1;
  status_ = nullptr;
  return status;
}

std::optional<int> BoxProcess::wait(std::chrono::milliseconds timeout) {
  TEMPER_CHECK(running());
  pollfd ended{pidfd_.get(), POLLIN, 0};
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ready = ::poll(&ended, 1, int(std::max<int64_t>(0, left.count())));
    if (ready > 0) break;
    if (ready == 0) return std::nullopt;
  }
  const auto status = reap();
  if (!status) throw WorldError("a process has ended with the one that had forked it");
  return status;
}

void BoxProcess::signal(int number) const {
  if (running()) ::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0);
}

void BoxProcess::stop() const {
  TEMPER_CHECK(!status_);
  signal(SIGSTOP);
  siginfo_t told;
  while (running() && ::waitid(P_PID, id_t(pid_), &told, WSTOPPED | WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
}

void BoxProcess::kill() {
  if (!running()) return;
  signal(SIGKILL);
  pollfd ended{pidfd_.get(), POLLIN, 0};
  while (::poll(&ended, 1, -1) < 0 && errno == EINTR) {
  }
  reap();
}

}  // namespace temper::env
