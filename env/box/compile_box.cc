#include "env/box/compile_box.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/files.h"
#include "env/box/lockdown.h"
#include "env/box/namespaces.h"
#include "env/box/private_root.h"

namespace temper {
namespace {

enum Stage : int { kCompiled = 0, kCompile = 1, kAssemble, kLink, kCopy, kSetup };

// What the box's init tells through its exit status: the stage that failed, and whether a tool was ended by a
// signal.
constexpr int kSignalled = 16;

Fd memory_file(const char* name) {
  Fd file(::memfd_create(name, MFD_CLOEXEC));
  if (!file) throw system_error("create a memory file");
  return file;
}

std::string read_prefix(int file, int64_t limit) {
  struct stat info {};
  if (::fstat(file, &info) != 0) throw system_error("look at a memory file");
  std::string content(size_t(std::min<int64_t>(info.st_size, limit)), '\0');
  const ssize_t n = ::pread(file, content.data(), content.size(), 0);
  content.resize(size_t(std::max<ssize_t>(0, n)));
  return content;
}

[[noreturn]] void run_tool(const std::vector<std::string>& argv) {
  try {
    ::syscall(SYS_close_range, 3, ~0u, 0);
    allow_only_compiler_calls();
    std::vector<char*> arguments;
    for (const auto& word : argv) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    char path[] = "PATH=/usr/bin", locale[] = "LC_ALL=C";
    char* environment[] = {path, locale, nullptr};
    ::execve(arguments[0], arguments.data(), environment);
  } catch (const std::exception&) {
  }
  ::_exit(126);
}

// 0, or the stage with how it failed.
int run_stage(Stage stage, const std::vector<std::string>& argv) {
  const pid_t pid = ::fork();
  if (pid < 0) return kSetup;
  if (pid == 0) run_tool(argv);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  return stage | (WIFSIGNALED(status) ? kSignalled : 0);
}

int copy_object(int object, int64_t limit) {
  const std::string content = read_file(kObjectFile);
  if (int64_t(content.size()) > limit) return kCopy;
  return ::write(object, content.data(), content.size()) == ssize_t(content.size()) ? 0 : int(kCopy);
}

void enter_box(const CompileQuota& quota, uid_t user) {
  enter_private_root(4 * quota.file_bytes, {"/usr", "/lib", "/lib64", "/bin"});
  if (::mkdir("/work", 0777) != 0 || ::chmod("/work", 0777) != 0 || ::chdir("/work") != 0)
    throw system_error("make the compile folder");
  apply_limits({.memory_bytes = quota.memory_bytes,
                .cpu_s = quota.wall.count() / 1000 + 1,
                .file_bytes = quota.file_bytes,
                .processes = 16});
  drop_privileges(user);
}

// The init of the box's pid namespace: our code, which starts the three tools in turn.
int run_box(const Toolchain& tools, const std::string& source, const CompileQuota& quota, uid_t user,
            int object, int diagnostics) {
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::dup2(null.get(), STDIN_FILENO);
  ::dup2(diagnostics, STDOUT_FILENO);
  ::dup2(diagnostics, STDERR_FILENO);
  enter_box(quota, user);
  write_file_atomic(kSourceFile, source);
  if (const int failed = run_stage(kCompile, tools.compile)) return failed;
  if (const int failed = run_stage(kAssemble, tools.assemble)) return failed;
  if (const int failed = run_stage(kLink, tools.link)) return failed;
  return copy_object(object, quota.object_bytes);
}

std::string failure_reason(int status, const std::string& diagnostics) {
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled;
  const auto says = [&](const char* words) { return diagnostics.find(words) != std::string::npos; };
  if (code == kCopy || code & kSignalled || says("out of memory") || says("memory exhausted") ||
      says("File too large") || says("No space left"))
    return "compile_quota";
  if (code == kLink && says("required symbol")) return "no_entry_point";
  return "compile_error";
}

}  // namespace

CompileResult compile(const Toolchain& tools, const std::string& source, const CompileQuota& quota,
                      uid_t user) {
  const Fd object = memory_file("object"), diagnostics = memory_file("diagnostics");
  auto box = BoxProcess::start([&] {
    try {
      return run_box(tools, source, quota, user, object.get(), diagnostics.get());
    } catch (const std::exception& e) {
      const std::string_view text = e.what();
      (void)!::write(diagnostics.get(), text.data(), text.size());
      return int(kSetup);
    }
  });
  const auto status = box.wait(quota.wall);
  box.kill();
  CompileResult result;
  result.diagnostics = read_prefix(diagnostics.get(), quota.diagnostic_bytes);
  if (status && WIFEXITED(*status) && WEXITSTATUS(*status) == kSetup)
    throw WorldError("the compile sandbox failed: {}", result.diagnostics);
  if (status && WIFEXITED(*status) && WEXITSTATUS(*status) == kCompiled) {
    result.ok = true;
    result.object = read_prefix(object.get(), quota.object_bytes);
  } else {
    result.reason = status ? failure_reason(*status, result.diagnostics) : "compile_timeout";
  }
  return result;
}

}  // namespace temper
