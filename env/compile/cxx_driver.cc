#include "env/compile/cxx_driver.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <sstream>

#include "base/error.h"

namespace temper::env {
namespace fs = std::filesystem;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> std::ws && !stream.eof();) {
    if (stream.peek() == '"')
      stream >> std::quoted(word);
    else
      stream >> word;
    words.push_back(word);
  }
  return words;
}

CxxDriver::CxxDriver() {
  const char* chosen = std::getenv("CXX");
  name_ = chosen != nullptr && *chosen != '\0' ? chosen : "g++";
  const CommandOutput said = output_of(name_ + " --version");
  version_ = first_line(said.text);
  if (!said.ok || version_.empty())
    throw WorldError("no C++ compiler: {} does not run; install g++ (apt-get install g++)", name_);
}

// The program of that name which the driver would run; it must lie where a box can see it.
std::string CxxDriver::program(const std::string& name) const {
  std::string found = first_line(output_of(name_ + " -print-prog-name=" + name).text);
  if (!found.starts_with('/')) found = first_line(output_of("command -v " + found).text);
  if (!fs::exists(found)) throw WorldError("the C++ compiler has no {}; install g++ and binutils", name);
  found = fs::canonical(found);
  if (!found.starts_with("/usr/"))
    throw WorldError(
        "{} lies outside /usr, where the compile sandbox cannot see it; install the system's g++ and "
        "binutils",
        found);
  return found;
}

std::string CxxDriver::file(const std::string& name) const {
  return fs::canonical(first_line(output_of(name_ + " -print-file-name=" + name).text));
}

Command CxxDriver::compiler(const std::string& arguments) const {
  std::istringstream lines(output_of(name_ + " -### " + arguments).errors);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(' ') || line.find("cc1plus") == std::string::npos) continue;
    auto words = split_words(line);
    words[0] = program("cc1plus");
    return words;
  }
  throw WorldError("{} is not a GNU C++ compiler; install g++ (apt-get install g++)", name_);
}

// Versions spell it differently: "--output-pch= FILE", "--output-pch FILE".
Command CxxDriver::precompiling(const std::string& to) const {
  const Command words = compiler("-x c++-header header.h -o " + to);
  const auto begin =
      std::ranges::find_if(words, [](const auto& word) { return word.starts_with("--output-pch"); });
  const auto end = std::find_if(begin, words.end(), [&](const auto& word) { return word.ends_with(to); });
  if (end == words.end()) throw WorldError("{} makes no precompiled headers", name_);
  return {begin, end + 1};
}

Command CxxDriver::assembler(const std::string& from, const std::string& to) const {
  return {program("as"), "-o", to, from};
}

// Of the driver's own files those that static objects, atexit and wide arithmetic need; all libraries are in
// the process that loads the object.
Command CxxDriver::linker(const std::string& from, const std::string& to, const std::string& entry) const {
  return {program("ld"),
          "-shared",
          "--eh-frame-hdr",
          "--require-defined=" + entry,
          "-z",
          "noexecstack",
          "-o",
          to,
          file("crtbeginS.o"),
          from,
          file("libgcc.a"),
          file("libc_nonshared.a"),
          file("crtendS.o")};
}

}  // namespace temper::env
