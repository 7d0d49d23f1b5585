#include "env/box/toolchain.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <sstream>

#include "base/error.h"

namespace temper {
namespace fs = std::filesystem;
namespace {

// What a shell command prints, errors included; "" if it fails.
std::string output_of(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  char chunk[4096];
  for (size_t n; (n = std::fread(chunk, 1, sizeof chunk, pipe)) > 0;) text.append(chunk, n);
  return ::pclose(pipe) == 0 ? text : "";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// The driver prints words bare or in double quotes.
std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> std::ws;) {
    if (stream.peek() == '"')
      stream >> std::quoted(word);
    else
      stream >> word;
    words.push_back(word);
  }
  return words;
}

// The program of that name which the driver would run; it must lie where a box can see it.
std::string program(const std::string& driver, const std::string& name) {
  std::string found = first_line(output_of(driver + " -print-prog-name=" + name));
  if (!found.starts_with('/')) found = first_line(output_of("command -v " + found));
  if (!fs::exists(found)) throw WorldError("the C++ compiler has no {}; install g++ and binutils", name);
  found = fs::canonical(found);
  if (!found.starts_with("/usr/"))
    throw WorldError(
        "{} lies outside /usr, where the compile sandbox cannot see it; install the system's g++ and "
        "binutils",
        found);
  return found;
}

std::vector<std::string> compile_command(const std::string& driver, const std::vector<std::string>& flags) {
  std::istringstream lines(output_of(fmt::format("{} -### -S -x c++ {} {} -o {}", driver,
                                                 fmt::join(flags, " "), kSourceFile, kAssemblyFile)));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(' ') || line.find("cc1plus") == std::string::npos) continue;
    auto words = split_words(line);
    words[0] = program(driver, "cc1plus");
    return words;
  }
  throw WorldError("{} is not a GNU C++ compiler; install g++ (apt-get install g++)", driver);
}

}  // namespace

Toolchain find_toolchain(const std::vector<std::string>& flags, const std::string& entry) {
  const char* chosen = std::getenv("CXX");
  const std::string driver = chosen != nullptr && *chosen != '\0' ? chosen : "g++";
  Toolchain tools;
  tools.version = first_line(output_of(driver + " --version"));
  if (tools.version.empty())
    throw WorldError("no C++ compiler: {} does not run; install g++ (apt-get install g++)", driver);
  tools.compile = compile_command(driver, flags);
  tools.assemble = {program(driver, "as"), "-o", kRelocatableFile, kAssemblyFile};
  // Of the driver's own files those that static objects and wide arithmetic need; all libraries are in the
  // runner.
  const auto file = [&](const char* name) {
    return fs::canonical(first_line(output_of(driver + " -print-file-name=" + name)));
  };
  tools.link = {program(driver, "ld"),
                "-shared",
                "--eh-frame-hdr",
                "--require-defined=" + entry,
                "-z",
                "noexecstack",
                "-o",
                kObjectFile,
                file("crtbeginS.o"),
                kRelocatableFile,
                file("libgcc.a"),
                file("crtendS.o")};
  return tools;
}

}  // namespace temper
