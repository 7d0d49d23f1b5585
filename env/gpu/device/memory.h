#pragma once
// GPU memory that two processes share: made in one, its descriptor sent to the other.

#include <cstdint>

#include "base/process.h"
#include "env/gpu/device/driver.h"

namespace temper {

class SharedGpuMemory {
 public:
  // At least `bytes`, whole pages. Errors: GpuError.
  static SharedGpuMemory make(int64_t bytes);
  static SharedGpuMemory map(int descriptor, int64_t bytes);  // `bytes` as asked for in `make`
  CUdeviceptr data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  Fd descriptor() const;

 private:
  void map_handle(int64_t bytes);
  CUmemGenericAllocationHandle handle_ = 0;
  CUdeviceptr data_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace temper
