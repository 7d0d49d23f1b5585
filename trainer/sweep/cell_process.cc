#include "trainer/sweep/cell_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

#include "base/error.h"
#include "base/process.h"

namespace temper {
namespace fs = std::filesystem;
namespace {

// Between fork and exec; nothing here may allocate.
[[noreturn]] void become(const char* program, char* const* argv, char* const* environment,
                         const cpu_set_t& cores, int log, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::setpgid(0, 0);
  ::sched_setaffinity(0, sizeof cores, &cores);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(log, STDOUT_FILENO) < 0 ||
      ::dup2(log, STDERR_FILENO) < 0)
    ::_exit(126);
  ::execve(program, argv, environment);
  ::_exit(127);
}

std::vector<std::string> environment_with(const std::string& gpu) {
  std::vector<std::string> all;
  for (char** entry = ::environ; *entry; ++entry)
    if (gpu.empty() || !std::string_view(*entry).starts_with("CUDA_VISIBLE_DEVICES="))
      all.emplace_back(*entry);
  if (!gpu.empty()) all.push_back("CUDA_VISIBLE_DEVICES=" + gpu);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

CellProcess CellProcess::start(const std::vector<std::string>& words, const MachineShare& share,
                               const fs::path& log) {
  const Fd file(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) throw system_error(fmt::format("create {}", log.string()));
  std::vector<std::string> argv = {"temper"}, environment = environment_with(share.gpu);
  argv.insert(argv.end(), words.begin(), words.end());
  const std::vector<char*> argv_pointers = pointers(argv), environment_pointers = pointers(environment);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const int core : share.cores) CPU_SET(core, &cores);
  // By its path, which gives it its name; a program that was replaced meanwhile has none.
  const fs::path path = fs::read_symlink("/proc/self/exe");
  const std::string program = fs::exists(path) ? path.string() : "/proc/self/exe";
  const pid_t parent = ::getpid();
  CellProcess child;
  child.pid_ = ::fork();
  if (child.pid_ < 0) throw system_error("start a cell");
  if (child.pid_ == 0)
    become(program.c_str(), argv_pointers.data(), environment_pointers.data(), cores, file.get(), parent);
  return child;
}

CellProcess::~CellProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<int> CellProcess::poll() {
  int status = 0;
  if (pid_ <= 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void CellProcess::stop() {
  if (pid_ > 0) ::kill(pid_, SIGTERM);
}

std::vector<MachineShare> split_machine(int64_t count, const std::vector<int>& cores,
                                        const std::vector<std::string>& gpus) {
  TEMPER_CHECK(count > 0 && count <= std::ssize(cores), "{} parts of {} cores", count, cores.size());
  std::vector<MachineShare> parts;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = i * std::ssize(cores) / count, end = (i + 1) * std::ssize(cores) / count;
    parts.push_back(
        {{cores.begin() + begin, cores.begin() + end}, i < std::ssize(gpus) ? gpus[size_t(i)] : ""});
  }
  return parts;
}

}  // namespace temper
