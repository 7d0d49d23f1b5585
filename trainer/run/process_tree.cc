#include "trainer/run/process_tree.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

// The parent of a process, or 0 if it is gone. The name in stat may hold anything but ends with the last ')'.
pid_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t end = line.rfind(')');
  return end == std::string::npos || end + 4 > line.size() ? 0 : pid_t(std::atoi(line.c_str() + end + 4));
}

std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error))
    if (const pid_t pid = pid_t(std::atoi(it->path().filename().c_str())); pid > 0)
      children.emplace(parent_of(pid), pid);
  return children;
}

void add_process(pid_t pid, TreeUsage& usage) {
  const fs::path dir = fs::path("/proc") / std::to_string(pid);
  int64_t pages = 0, resident = 0;
  std::ifstream(dir / "statm") >> pages >> resident;
  usage.memory_bytes += resident * ::sysconf(_SC_PAGESIZE);
  ++usage.processes;
  std::error_code error;
  for (fs::directory_iterator it(dir / "fd", error), end; !error && it != end; it.increment(error))
    ++usage.files;
}

}  // namespace

TreeUsage tree_usage() {
  const auto children = children_by_parent();
  TreeUsage usage;
  std::vector<pid_t> open = {::getpid()};
  while (!open.empty()) {
    const pid_t pid = open.back();
    open.pop_back();
    add_process(pid, usage);
    const auto [begin, end] = children.equal_range(pid);
    for (auto it = begin; it != end; ++it) open.push_back(it->second);
  }
  return usage;
}

}  // namespace temper::trainer
