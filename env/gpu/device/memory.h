#pragma once
// GPU memory by whole pages: what two processes share, made in one, its descriptor sent to the other; and stretches
// with nothing around them.

#include <cstdint>

#include "base/process.h"
#include "env/gpu/case.h"
#include "env/gpu/device/driver.h"

namespace temper::env {

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

// Windows of memory (GpuWindowSizes). An access between them ends the context. They live as long as it does.
class GpuWindows {
 public:
  GpuWindows(int count, int64_t bytes);       // at least `bytes` each, whole pages; errors: GpuError
  CUdeviceptr data() const { return data_; }  // the first one's begin
  const GpuWindowSizes& sizes() const { return sizes_; }
  int count() const { return count_; }

 private:
  CUdeviceptr data_ = 0;
  GpuWindowSizes sizes_;
  int count_ = 0;
};

}  // namespace temper::env
