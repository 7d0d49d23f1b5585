#include "trainer/app/sweep/cell_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <string_view>

#include "base/error.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> environment_of_cell(const std::string& gpu) {
  std::vector<std::string> all;
  for (char** entry = ::environ; *entry; ++entry)
    if (gpu.empty() || !std::string_view(*entry).starts_with("CUDA_VISIBLE_DEVICES="))
      all.emplace_back(*entry);
  if (!gpu.empty()) all.push_back("CUDA_VISIBLE_DEVICES=" + gpu);
  return all;
}

}  // namespace

CellProcess CellProcess::start(const std::vector<std::string>& words, const MachineShare& share,
                               const fs::path& log) {
  const Fd file(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) throw system_error(fmt::format("create {}", log.string()));
  // By its path, which gives it its name; a program that was replaced meanwhile has none.
  const fs::path path = fs::read_symlink("/proc/self/exe");
  ChildProgram program{.argv = {fs::exists(path) ? path.string() : "/proc/self/exe"},
                       .environment = environment_of_cell(share.gpu),
                       .input = kNullDevice,
                       .output = file.get(),
                       .errors = file.get(),
                       .cores = share.cores,
                       .own_group = true};
  program.argv.insert(program.argv.end(), words.begin(), words.end());
  return CellProcess(ChildProcess::start(program));
}

std::optional<int> CellProcess::poll() {
  const auto status = process_.wait(0);
  if (!status) return std::nullopt;
  return WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
}

void CellProcess::stop() { process_.signal(SIGTERM); }

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

}  // namespace temper::trainer
