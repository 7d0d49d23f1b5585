#pragma once
// The system's C++ compiler, taken apart: the programs its driver would run, so that each box starts three
// small programs and no driver, and the command line is ours alone.

#include <string>
#include <vector>

namespace temper {

struct Toolchain {
  std::string version;                // "g++ (Debian 12.2.0-14) 12.2.0": part of every verdict's digest
  std::vector<std::string> compile;   // kSourceFile → kAssemblyFile
  std::vector<std::string> assemble;  // kAssemblyFile → kRelocatableFile
  std::vector<std::string> link;      // kRelocatableFile → kObjectFile
};

inline constexpr const char* kSourceFile = "candidate.cc";  // as diagnostics name it
inline constexpr const char* kAssemblyFile = "candidate.s";
inline constexpr const char* kRelocatableFile = "candidate.o";
inline constexpr const char* kObjectFile = "candidate.so";

// Asks the driver ($CXX, else g++) what it would run for `flags`. `entry` must be defined by the source.
// Errors: WorldError saying what to install if there is no GNU C++ compiler below /usr.
Toolchain find_toolchain(const std::vector<std::string>& flags, const std::string& entry);

}  // namespace temper
