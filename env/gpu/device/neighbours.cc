#include "env/gpu/device/neighbours.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <vector>

namespace temper::env {
namespace {

// Source: NVML API reference, nvmlDeviceGetComputeRunningProcesses_v3; the header is in no package of ours.
struct Process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
using Device = void*;

struct Nvml {
  int (*init)() = nullptr;
  int (*device)(const char* uuid, Device*) = nullptr;
  int (*processes)(Device, unsigned* count, Process*) = nullptr;
};

bool load(Nvml& nvml) {
  void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(library, name));
    return function != nullptr;
  };
  return find(nvml.init, "nvmlInit_v2") && find(nvml.device, "nvmlDeviceGetHandleByUUID") &&
         find(nvml.processes, "nvmlDeviceGetComputeRunningProcesses_v3") && nvml.init() == 0;
}

// The fourth field of /proc/PID/stat, behind a name that may hold anything.
pid_t parent_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(") ");
  return name_end == std::string::npos || name_end + 4 >= line.size() ? 0 : std::atoi(&line[name_end + 4]);
}

std::set<pid_t> lineage() {
  std::set<pid_t> pids;
  for (pid_t pid = ::getpid(); pid > 1 && pids.insert(pid).second;) pid = parent_of(pid);
  return pids;
}

}  // namespace

std::string gpu_neighbours(const std::string& uuid) {
  Nvml nvml;
  Device device = nullptr;
  std::vector<Process> found(64);
  auto count = unsigned(found.size());
  if (!load(nvml) || nvml.device(uuid.c_str(), &device) != 0 ||
      nvml.processes(device, &count, found.data()) != 0)
    return "";
  found.resize(std::min<size_t>(count, found.size()));
  std::erase_if(found,
                [own = lineage()](const Process& process) { return own.contains(pid_t(process.pid)); });
  if (found.empty()) return "";
  const auto most = *std::max_element(found.begin(), found.end(),
                                      [](const Process& a, const Process& b) { return a.bytes < b.bytes; });
  const std::string others = found.size() > 1 ? fmt::format(" and {} more", found.size() - 1) : "";
  return fmt::format("process {} ({} MiB){}", most.pid, most.bytes >> 20, others);
}

}  // namespace temper::env
