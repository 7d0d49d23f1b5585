#pragma once
// Compilers, taken apart: the programs that their drivers would run, so that each box starts some small
// programs and no driver, and the command lines are ours alone.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace temper {

// What a compile box does: writes `files`, then the candidate as `source`, runs `steps` in turn in the one
// folder, and hands out `object` and, of a GPU language, `cubin` and the `ptx` it is made from.
struct Toolchain {
  std::string version;  // of the compilers, a line: part of every verdict's digest, as are the steps
  std::string source;
  std::vector<std::pair<std::string, std::string>> files;  // name, content
  std::vector<std::vector<std::string>> steps;             // each one program and its arguments
  std::string object, cubin, ptx;                          // empty: there is none
  std::vector<std::string> folders;                        // beside /usr, that a box must see
};

inline constexpr const char* kSourceFile = "candidate.cc";  // as diagnostics name it
inline constexpr const char* kObjectFile = "candidate.so";

// Version and command lines in words.
std::string description(const Toolchain& tools);

// Asks the C++ driver ($CXX, else g++) what it would run for `flags`. `entry` must be defined by the source.
// Errors: WorldError saying what to install if there is no GNU C++ compiler below /usr.
Toolchain find_toolchain(const std::vector<std::string>& flags, const std::string& entry);

// The same for CUDA: asks nvcc ($CUDACXX, else on PATH, in /usr/local/cuda, or the one Temper was built
// with). Source candidate.cu; device code for one architecture ("sm_90a") and nothing else; host code that
// leaves the CUDA runtime undefined. The device's half comes first: it finds the mistakes of both, at a third
// of the time. Errors: WorldError saying what to install, ConfigError if nvcc does not know the architecture.
Toolchain find_cuda_toolchain(const std::vector<std::string>& flags, const std::string& entry,
                              const std::string& architecture);

// Lambdas that kernels call (`[=] __device__ …`) make nvcc read a large part of the standard library, and
// take 1.6 times as long: only sources that have some are compiled so.
class CudaToolchains {
 public:
  // Errors: as find_cuda_toolchain.
  CudaToolchains(std::vector<std::string> flags, std::string entry, std::string architecture);
  const Toolchain& of(const std::string& source);
  const Toolchain& plain() const { return plain_; }

 private:
  std::vector<std::string> flags_;
  std::string entry_, architecture_;
  Toolchain plain_;
  std::optional<Toolchain> with_lambdas_;  // once a source has asked for it
};

}  // namespace temper
