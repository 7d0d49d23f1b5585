#pragma once
// Compilers, taken apart: the programs that their drivers would run, so that each box starts some small
// programs and no driver, and the command lines are ours alone.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace temper::env {

// Done to what a program has written before the next one reads it: the text it begins with becomes another.
struct TextEdit {
  std::string file, begins, becomes;
  bool needed = true;  // whether a file that begins with something else is an error
};

struct CompileStep {
  std::vector<std::string> program;  // and its arguments
  std::optional<TextEdit> edit = {};
};

// What a compile box does: it writes `files`, then the candidate as `source`, runs `steps` one after another in that
// folder, and returns those of `object`, `cubin`, its `ptx` and `stubs` that have a name.
struct Toolchain {
  std::string
      version;  // versions of the compilers in one line: part of every verdict's digest, like the steps
  std::string source;
  std::vector<std::pair<std::string, std::string>> files;  // name, content
  std::vector<CompileStep> steps;
  std::string object, cubin, ptx, stubs;  // names of files; empty if the toolchain makes no such file
  std::vector<std::string> folders;       // beside /usr, that a box must see
};

inline constexpr const char* kSourceFile = "candidate.cc";  // as diagnostics name it
inline constexpr const char* kObjectFile = "candidate.so";
inline constexpr const char* kStubsFile = "candidate.cudafe1.stub.c";

// The two toolchains of a CUDA candidate. Each half is compiled in a box of its own: a host half may serve other
// candidates, so it must be out of reach for anything that a candidate's kernels do to their compiler. Only the stubs
// by which host code calls kernels pass from one to the other: the device half writes them, in C, and the host half
// reads them.
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

// Finds the toolchain for CUDA by asking nvcc ($CUDACXX, else on PATH, in /usr/local/cuda, or the one Temper was built
// with). The source is candidate.cu; device code is made for one architecture ("sm_90a") only, and host code leaves the
// CUDA runtime undefined. Errors: WorldError saying what to install, ConfigError if nvcc does not know the
// architecture.
CudaToolchain find_cuda_toolchain(const std::vector<std::string>& flags, const std::string& entry,
                                  const std::string& architecture);

}  // namespace temper::env
