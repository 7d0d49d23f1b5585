// Feeds every target the files of its corpus, and of folders that are named for it: fuzz_replay CORPUS
// [TARGET] [TARGET=FOLDER …].

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "tests/fuzz/target.h"

namespace temper::fuzz {
namespace {

std::map<std::string, Target>& targets() {
  static std::map<std::string, Target> all;
  return all;
}

namespace fs = std::filesystem;

// The number of files of a folder and those below; each also cut in half.
int replay(const fs::path& folder, Target target) {
  if (!fs::is_directory(folder)) return 0;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
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

// TARGET=FOLDER, of folders that other tests have too.
std::multimap<std::string, fs::path> folders_of(const std::vector<std::string>& words) {
  std::multimap<std::string, fs::path> folders;
  for (const std::string& word : words)
    if (const size_t end = word.find('='); end != std::string::npos)
      folders.emplace(word.substr(0, end), word.substr(end + 1));
  return folders;
}

int replay_all(const fs::path& corpus, const std::vector<std::string>& words) {
  const auto more = folders_of(words);
  const bool one = !words.empty() && words[0].find('=') == std::string::npos;
  int empty = 0;
  for (const auto& [name, target] : targets()) {
    if (one && name != words[0]) continue;
    int files = replay(corpus / name, target);
    for (auto [folder, end] = more.equal_range(name); folder != end; ++folder) {
      const int found = replay(folder->second, target);
      empty += found == 0;
      files += found;
    }
    std::printf("%s: %d files\n", name.c_str(), files);
    empty += files == 0;
  }
  return empty;
}

}  // namespace

Registration::Registration(const char* name, Target target) { targets()[name] = target; }

}  // namespace temper::fuzz

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "fuzz_replay CORPUS [TARGET] [TARGET=FOLDER …]\n"), 2;
  const int empty = temper::fuzz::replay_all(argv[1], {argv + 2, argv + argc});
  return empty > 0 ? (std::printf("%d folders are empty\n", empty), 1) : 0;
}
