#pragma once
// Copies between the host and a few memories of a device, its stages, which take turns. They run beside what computes.

#include <ATen/core/Tensor.h>

#include <span>

namespace temper::policy {

struct CopyPair {
  at::Tensor to, from;  // of the same type and size
};

class StageCopies {
 public:
  virtual ~StageCopies() = default;
  // Into a stage, after the last copies out of it. What the current stream gets from now on comes after them.
  virtual void fetch(int stage, std::span<const CopyPair> copies) = 0;
  // Out of a stage, after what the current stream was given so far.
  virtual void store(int stage, std::span<const CopyPair> copies) = 0;
  // The host waits until all copies are done.
  virtual void finish() = 0;
};

}  // namespace temper::policy
