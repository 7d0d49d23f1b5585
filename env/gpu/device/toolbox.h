#pragma once
// The judge's own kernels (kernels.cu) in the context of this process.

#include <cstdint>
#include <vector>

#include "env/gpu/device/driver.h"
#include "env/gpu/specs.h"

namespace temper::env {

class GpuToolbox {
 public:
  // Work is queued on `stream`. Errors: GpuError.
  GpuToolbox(const GpuFacts& facts, CUstream stream);
  void reload();  // loads the kernels' code again, in case it was changed

  void draw(const Draws& draws);
  void check_draws(const Draws& draws, CUdeviceptr changed);  // u32, set to 1 or left
  void fill_zones(const Zones& zones);
  void check_zones(const Zones& zones, CUdeviceptr broken);  // u32, set to 1 or left
  // Adds a digest of the bytes to the u64, and copies them unless `copy` is 0. Without the key nobody can find other
  // bytes with the same digest.
  void digest(uint64_t key, CUdeviceptr data, CUdeviceptr copy, int64_t bytes, CUdeviceptr sum);
  void flush_l2();
  void wait(int64_t cycles);  // the GPU does nothing, and what follows can be queued meanwhile
  // Outputs in a candidate's type against f64 (floats) or i64 (integers), or `narrow` ones.
  void compare(const CompareSpec& spec, CUdeviceptr got, CUdeviceptr expected, CUdeviceptr result);

 private:
  template <class... Arguments>
  void launch(CUfunction kernel, int64_t work, unsigned rows, Arguments... arguments);

  CUstream stream_;
  CUmodule module_ = nullptr;
  CUfunction draw_ = nullptr, check_draws_ = nullptr, fill_zones_ = nullptr, check_zones_ = nullptr,
             digest_ = nullptr, flush_ = nullptr, wait_ = nullptr;
  CUfunction compare_ = nullptr, compare_integers_ = nullptr;
  unsigned most_blocks_;
  CUdeviceptr quiet_ = 0;  // memory that flush reads
  int64_t quiet_bytes_;
};

}  // namespace temper::env
