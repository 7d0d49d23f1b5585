#pragma once
// The contents of a cubin, read from the ELF file without any of CUDA's tools.
//
// Source: ELF-64; sections and attributes (.nv.info) as ptxas 13 writes them, found by compiling probes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "env/plan/plan.h"

namespace temper::env {

struct CubinParameter {
  uint32_t offset = 0, bytes = 0;
};

struct CubinKernel {
  std::string name;  // mangled
  uint32_t registers = 0;
  uint32_t static_shared = 0;  // bytes, without what the system reserves
  uint32_t stack_bytes = 0;    // local memory of a thread
  uint32_t max_threads = 0;    // __launch_bounds__; 0 if not given
  bool fixed_cluster = false;  // __cluster_dims__
  Extent cluster;              // if so
  std::vector<CubinParameter> parameters;
  uint32_t parameter_bytes() const;  // size of the whole argument buffer
};

// A variable in global memory: `__device__`, or a static table that the compiler put there.
struct CubinGlobal {
  std::string name;
  uint64_t bytes = 0;
  bool table = false;      // the file has its first bytes, and it lies within them
  bool visible = false;    // the driver knows it by its name
  uint64_t symbol_at = 0;  // the offset of its symbol in the file
};

struct Cubin {
  int architecture = 0;  // 90
  std::vector<CubinKernel> kernels;
  std::vector<CubinGlobal> globals;
  std::vector<std::string> undefined;  // functions that the file does not define: vprintf, malloc, …
  uint64_t global_bytes = 0;           // size of .nv.global and .nv.global.init
  const CubinKernel* find(std::string_view name) const;
};

// Changes the file, which must have been read successfully, so that the driver finds the variable by its name.
void make_visible(std::string& bytes, const CubinGlobal& global);

// "" and the cubin, or what is wrong with the file. Never throws, reads nothing outside `bytes`.
std::string read_cubin(std::string_view bytes, Cubin& cubin);

}  // namespace temper::env
