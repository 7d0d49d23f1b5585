#pragma once
// What modules are judged on: a GPU, or for tests a core.

#include <string>
#include <vector>

#include "env/plan/triton/python.h"
#include "env/procedure/judging.h"

namespace temper::env {

struct ModuleMachine {
  std::string device = "cuda";  // or "cpu"
  std::string name, uuid;       // "NVIDIA H200", "GPU-…"
  int driver = 0, capability = 0;
  int64_t memory_bytes = 0, l2_bytes = 0;
  double bytes_per_s = 0;          // nominal; on a core by measurement
  std::vector<std::string> nodes;  // the GPU's and its driver's device files
};

// The GPU of that number among those that are visible, counted around; with "cpu", this core. Errors: WorldError if there is
// no driver or no GPU.
ModuleMachine find_module_machine(const TritonPython& python, const std::string& device, int gpu);

// Of a call that must read and write so many bytes: what lay in the GPU's cache need not come from its memory.
TimeBounds module_bounds(const ModuleMachine& machine, double bytes);

}  // namespace temper::env
