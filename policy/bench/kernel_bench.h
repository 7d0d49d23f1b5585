#pragma once
// How fast the CUDA ops move their bytes, and those that compute do so.

#include <cstdint>
#include <string>
#include <vector>

namespace temper::policy {

// bf16 ops of a decoder of Qwen3's proportions: heads of 128, a key head for four query heads, three times
// the width inside SwiGLU.
struct KernelBenchShape {
  int64_t rows = 16384;
  int64_t width = 4096;    // a multiple of 128
  int64_t vocab = 151936;  // a multiple of 8
};

struct OpTime {
  std::string name;
  double seconds;         // time of one call, the median of several graphs of calls
  int64_t bytes;          // that a call must read and write
  double operations = 0;  // floating-point, where they and not the bytes take the time
};

// The first is the copy to compare with. Buffers alternate: none is still in the cache when its turn comes.
// Errors: WorldError if there is no GPU or too little memory on it.
std::vector<OpTime> bench_kernels(const KernelBenchShape& shape);

}  // namespace temper::policy
