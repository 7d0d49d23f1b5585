#include "env/compile/compile_box.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "env/box/lockdown.h"
#include "env/box/namespaces.h"
#include "env/box/private_root.h"
#include "env/verdict/details.h"

namespace temper::env {
namespace {

// The exit status of the box's init: everything is done, one of our own steps failed, or a tool failed or was ended by
// a signal.
enum Ending : int { kCompiled = 0, kSetupFailed = 1, kCopyFailed = 2, kToolFailed = 3, kToolKilled = 4 };

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

constexpr int kNotStarted =
    126;  // a tool could not be started, which is our fault; no compiler uses this code

void tell(std::string_view text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

[[noreturn]] void run_tool(const std::vector<std::string>& argv, int64_t memory_bytes) {
  try {
    ::syscall(SYS_close_range, 3, ~0u, 0);
    allow_only_compiler_calls();
    std::vector<char*> arguments;
    for (const auto& word : argv) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    char path[] = "PATH=/usr/bin", locale[] = "LC_ALL=C", folder[] = "TMPDIR=/work";
    char* environment[] = {path, locale, folder, nullptr};
    limit_addresses(memory_bytes);  // last: until here this is a copy of a process that may be larger
    ::execve(arguments[0], arguments.data(), environment);
    // No exception is asked: sanitizers look at an object's type through a pipe, which the filter refuses.
    tell(fmt::format("cannot start {}: {}", argv[0], std::strerror(errno)));
  } catch (const std::exception& e) {
    tell(e.what());
  }
  ::_exit(kNotStarted);
}

// Started here and not as trusted children are (base/machine/child_process.h): between fork and exec a tool
// is put under the filter of system calls, and this process has one thread.
Ending run_step(const std::vector<std::string>& argv, int64_t memory_bytes) {
  const pid_t pid = ::fork();
  if (pid < 0) throw system_error(fmt::format("start a process for {}", argv[0]));
  if (pid == 0) run_tool(argv, memory_bytes);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return kCompiled;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotStarted) return kSetupFailed;
  return WIFSIGNALED(status) ? kToolKilled : kToolFailed;
}

void apply(const TextEdit& edit) {
  const std::string text = read_file(edit.file);
  if (text.starts_with(edit.begins))
    write_file(edit.file, edit.becomes + text.substr(edit.begins.size()));
  else if (edit.needed)
    throw WorldError("{} does not begin as it should", edit.file);
}

Ending copy_product(const std::string& from, int to, int64_t limit) {
  if (from.empty()) return kCompiled;
  const std::string content = read_file(from);
  if (int64_t(content.size()) > limit) return kCopyFailed;
  return ::write(to, content.data(), content.size()) == ssize_t(content.size()) ? kCompiled : kCopyFailed;
}

void enter_box(const Toolchain& tools, const CompileQuota& quota, uid_t user) {
  std::vector<std::string> folders{"/usr", "/lib", "/lib64", "/bin"};
  folders.insert(folders.end(), tools.folders.begin(), tools.folders.end());
  enter_private_root(4 * quota.file_bytes, folders);
  if (::mkdir("/work", 0777) != 0 || ::chmod("/work", 0777) != 0 || ::chdir("/work") != 0)
    throw system_error("make the compile folder");
  apply_limits({.cpu_s = quota.wall.count() / 1000 + 1,
                .file_bytes = quota.file_bytes,
                .processes = 16,
                .niceness = quota.niceness});
  drop_privileges(user);
}

struct Products {
  Fd object = memory_file("object"), cubin = memory_file("cubin"), ptx = memory_file("ptx"),
     stubs = memory_file("stubs"), diagnostics = memory_file("diagnostics");
};

// The init of the box's pid namespace: our code, which starts the tools in turn.
Ending run_box(const Toolchain& tools, const std::string& source, const CompileQuota& quota, uid_t user,
               const Products& products) {
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::dup2(null.get(), STDIN_FILENO);
  ::dup2(products.diagnostics.get(), STDOUT_FILENO);
  ::dup2(products.diagnostics.get(), STDERR_FILENO);
  enter_box(tools, quota, user);
  for (const auto& [name, content] : tools.files) write_file(name, content);
  write_file(tools.source, source);
  for (const auto& step : tools.steps) {
    if (const Ending ending = run_step(step.program, quota.memory_bytes); ending != kCompiled) return ending;
    if (step.edit) apply(*step.edit);
  }
  Ending ending = copy_product(tools.object, products.object.get(), quota.object_bytes);
  if (ending == kCompiled) ending = copy_product(tools.cubin, products.cubin.get(), quota.cubin_bytes);
  if (ending == kCompiled) ending = copy_product(tools.ptx, products.ptx.get(), quota.ptx_bytes);
  if (ending == kCompiled) ending = copy_product(tools.stubs, products.stubs.get(), quota.stubs_bytes);
  return ending;
}

// Whether the first error is that what follows a candidate in C++ (env/languages/cpp.cc) knows no such function.
bool lacks_kernel(const std::string& diagnostics) {
  const size_t error = diagnostics.find("error: ");
  if (error == std::string::npos || diagnostics.find("error: 'kernel' was not declared") == std::string::npos)
    return false;
  const size_t newline = diagnostics.rfind('\n', error);
  return diagnostics.compare(newline == std::string::npos ? 0 : newline + 1, 12, "entry_point:") == 0;
}

std::string failure_reason(int status, const std::string& diagnostics) {
  const int ending = WIFEXITED(status) ? WEXITSTATUS(status) : int(kToolKilled);
  const auto says = [&](const char* words) { return diagnostics.find(words) != std::string::npos; };
  if (ending == kCopyFailed || ending == kToolKilled || says("out of memory") || says("memory exhausted") ||
      says("File too large") || says("No space left") || says("relocation truncated"))
    return "compile_quota";
  if (says("required symbol") || says("entry_point(1): error: identifier") || lacks_kernel(diagnostics))
    return "no_entry_point";
  return "compile_error";
}

}  // namespace

std::string compile_failure_details(const CompileResult& result, const CompileQuota& quota,
                                    const std::string& source) {
  if (result.reason == "compile_error") return compiler_details(result.diagnostics, source);
  return result.reason == "compile_timeout" ? compile_time_details(quota.wall) : "";
}

CompileResult compile(const Toolchain& tools, const std::string& source, const CompileQuota& quota,
                      uid_t user) {
  const Products products;
  auto box = BoxProcess::start([&] {
    try {
      return int(run_box(tools, source, quota, user, products));
    } catch (const std::exception& e) {
      const std::string_view text = e.what();
      (void)!::write(products.diagnostics.get(), text.data(), text.size());
      return int(kSetupFailed);
    }
  });
  const auto status = box.wait(quota.wall);
  box.kill();
  CompileResult result;
  result.diagnostics = read_prefix(products.diagnostics.get(), quota.diagnostic_bytes);
  if (status && WIFEXITED(*status) && WEXITSTATUS(*status) == kSetupFailed)
    throw WorldError("the compile sandbox failed: {}", result.diagnostics);
  if (status && WIFEXITED(*status) && WEXITSTATUS(*status) == kCompiled) {
    result.ok = true;
    result.object = read_prefix(products.object.get(), quota.object_bytes);
    result.cubin = read_prefix(products.cubin.get(), quota.cubin_bytes);
    result.ptx = read_prefix(products.ptx.get(), quota.ptx_bytes);
    result.stubs = read_prefix(products.stubs.get(), quota.stubs_bytes);
  } else {
    result.reason = status ? failure_reason(*status, result.diagnostics) : "compile_timeout";
  }
  return result;
}

}  // namespace temper::env
