#pragma once
// What this process and all that it started hold.

#include <cstdint>

namespace temper {

struct TreeUsage {
  int64_t processes = 0, files = 0;  // open descriptors
  int64_t memory_bytes = 0;          // resident, summed: shared pages count once for each process
};

TreeUsage tree_usage();

}  // namespace temper
