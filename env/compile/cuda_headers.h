#pragma once
// Lets the compilers read the headers of CUDA candidates once instead of for each candidate; they are nine tenths of
// what compilers read. The results are the same to the byte.
//
// A unit begins with headers, which are the same for all units of a `lead`. Instead of the headers the preprocessor is
// given the macros that they define, and their preprocessed text, which is known, is put before its output. The host
// compiler gets cudafe++'s output for that text as a precompiled header.

#include <filesystem>
#include <map>

#include "env/compile/toolchain.h"

namespace temper::env {

class CudaHeaders {
 public:
  // Processes share a folder, which boxes must not be able to write to: what one of them has read is there
  // for all. It may be empty: then all units are compiled as `plain` does.
  CudaHeaders(CudaToolchain plain, std::filesystem::path folder);

  // How to compile the unit: with its headers if they have been read.
  const CudaToolchain& of(const std::string& unit);
  const CudaToolchain& plain() const { return plain_; }

  // Once some units have come: reads what they have asked for and tries it out, two seconds for each lead,
  // unless another process does. Errors: WorldError; that lead is not tried again, by no process.
  void read(uid_t user);

 private:
  std::filesystem::path place(const std::string& lead) const;
  CudaToolchain load(const std::filesystem::path& folder) const;
  void try_out(const std::string& lead, const std::filesystem::path& folder, uid_t user) const;

  const CudaToolchain plain_;
  const std::filesystem::path folder_;
  int64_t units_ = 0;
  std::map<std::string, std::optional<CudaToolchain>> leads_;  // asked for; with tools once read
};

}  // namespace temper::env
