#pragma once
// Compilers, taken apart: the programs that their drivers would run, so that each box starts some small
// programs and no driver, and the command lines are ours alone.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace temper {

// Done to what a program has written before the next one reads it: the text it begins with becomes another.
struct TextEdit {
  std::string file, begins, becomes;
  bool needed = true;  // whether a file that begins with something else is an error
};

struct CompileStep {
  std::vector<std::string> program;  // and its arguments
  std::optional<TextEdit> edit = {};
};

// What a compile box does: writes `files`, then the candidate as `source`, runs `steps` in turn in the one
// folder, and hands out what is named of `object`, `cubin`, the `ptx` it is made from, and `stubs`.
struct Toolchain {
  std::string version;  // of the compilers, a line: part of every verdict's digest, as are the steps
  std::string source;
  std::vector<std::pair<std::string, std::string>> files;  // name, content
  std::vector<CompileStep> steps;
  std::string object, cubin, ptx, stubs;  // empty: there is none
  std::vector<std::string> folders;       // beside /usr, that a box must see
};

inline constexpr const char* kSourceFile = "candidate.cc";  // as diagnostics name it
inline constexpr const char* kObjectFile = "candidate.so";
inline constexpr const char* kStubsFile = "candidate.cudafe1.stub.c";

// Of a candidate in CUDA. The halves have boxes of their own: a host half may serve other candidates, so
// nothing that one's kernels do to their compiler may reach it, but for the stubs that host code calls
// kernels by. Those the device's half makes, in C, and the host's half reads.
struct CudaToolchain {
  Toolchain device, host;
  Toolchain plain_host;  // reads all headers itself: tries again what `host` cannot compile
};

// Version and command lines in words.
std::string description(const Toolchain& tools);
std::string description(const CudaToolchain& tools);

// Asks the C++ driver ($CXX, else g++) what it would run for `flags`. `entry` must be defined by the source.
// Errors: WorldError saying what to install if there is no GNU C++ compiler below /usr.
Toolchain find_toolchain(const std::vector<std::string>& flags, const std::string& entry);

// The same for CUDA: asks nvcc ($CUDACXX, else on PATH, in /usr/local/cuda, or the one Temper was built
// with). Source candidate.cu; device code for one architecture ("sm_90a") and nothing else; host code that
// leaves the CUDA runtime undefined. Errors: WorldError saying what to install, ConfigError if nvcc does not
// know the architecture.
CudaToolchain find_cuda_toolchain(const std::vector<std::string>& flags, const std::string& entry,
                                  const std::string& architecture);

}  // namespace temper
