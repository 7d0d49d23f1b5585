#pragma once
// Addresses that stand for GPU memory. Nothing is mapped there, so that host code that dereferences them faults, and
// a number that a launcher computes is hardly ever one of them by chance.

#include <cstdint>
#include <optional>
#include <vector>

#include "env/plan/plan.h"

namespace temper::env {

struct DeviceBuffer {
  uint64_t address = 0, bytes = 0;
  Space space = Space::kInput;
  uint32_t index = 0;  // into inputs or outputs; workspaces are counted over all runs of the process
  int run = 0;
  bool live = true;
};

struct Place {
  bool inside = false;  // whether it lies in a live buffer, and not just in the reserved range of addresses
  DeviceBuffer buffer;
  int64_t offset = 0;
};

class Addresses {
 public:
  // Other addresses than before, at other distances from each other. Task buffers of earlier runs are
  // forgotten, workspaces stay.
  void begin_run(const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs);

  uint64_t allocate(
      uint64_t bytes);             // 0: too many. One of this run that was freed and is as large comes again
  bool release(uint64_t address);  // false: there is no such workspace
  uint64_t live_bytes() const;     // bytes of the live workspaces

  std::optional<Place> find(uint64_t value) const;
  // Buffers in the order of this run's making: what `find` of two runs can be compared by.
  std::vector<DeviceBuffer> of_this_run() const;

 private:
  uint64_t next_address(uint64_t bytes);
  std::vector<DeviceBuffer> task_, workspaces_;
  uint64_t next_ = 0;
  int run_ = 0;
};

}  // namespace temper::env
