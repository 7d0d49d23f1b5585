#pragma once
// The memory that this process and all its descendants hold.

#include <cstdint>

namespace temper::trainer {

struct TreeUsage {
  int64_t processes = 0, files = 0;  // open descriptors
  int64_t memory_bytes = 0;          // resident, summed: shared pages count once for each process
};

TreeUsage tree_usage();

}  // namespace temper::trainer
