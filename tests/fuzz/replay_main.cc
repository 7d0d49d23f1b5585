// Feeds every target the files of its corpus: fuzz_replay CORPUS [TARGET].

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <vector>

#include "base/files.h"
#include "tests/fuzz/target.h"

namespace temper::fuzz {
namespace {

std::map<std::string, Target>& targets() {
  static std::map<std::string, Target> all;
  return all;
}

// The number of files; each also cut in half.
int replay(const std::filesystem::path& folder, Target target) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    const std::string bytes = read_file(file);
    target(bytes);
    target(std::string_view(bytes).substr(0, bytes.size() / 2));
  }
  return int(files.size());
}

}  // namespace

Registration::Registration(const char* name, Target target) { targets()[name] = target; }

}  // namespace temper::fuzz

int main(int argc, char** argv) {
  using namespace temper::fuzz;
  if (argc < 2) return std::fprintf(stderr, "fuzz_replay CORPUS [TARGET]\n"), 2;
  int empty = 0;
  for (const auto& [name, target] : targets()) {
    if (argc > 2 && name != argv[2]) continue;
    const std::filesystem::path folder = std::filesystem::path(argv[1]) / name;
    const int files = std::filesystem::is_directory(folder) ? replay(folder, target) : 0;
    std::printf("%s: %d files\n", name.c_str(), files);
    empty += files == 0;
  }
  return empty > 0 ? (std::printf("%d targets have no corpus\n", empty), 1) : 0;
}
