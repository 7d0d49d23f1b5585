#pragma once
// The machine for which a run is planned: this one in its present state, or another one by its published figures.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/ranks/communicator.h"
#include "trainer/config/config.h"

namespace temper::trainer {

// Published figures of a GPU.
struct GpuKind {
  std::string name;             // "H100-80"
  int64_t memory_bytes = 0;     // that a program can have
  double flops = 0;             // a second, bf16, dense
  double bytes_per_s = 0;       // memory bandwidth
  double link_bytes_per_s = 0;  // to the other GPUs of its host, each way
  int64_t host_gpus = 8;
  double network_bytes_per_s = 50e9;    // to other hosts, for each GPU: 400 Gb/s
  double host_link_bytes_per_s = 64e9;  // to the host's memory, each way: PCIe 5.0, 16 lanes
};

// Dense bf16 products a second on a GPU's tensor cores, in flop/s, by the name that its driver has. None for
// names that are not in the table, such as those of a slice of a GPU.
std::optional<double> peak_flops(const std::string& gpu);

struct PlanSite {
  int64_t ranks = 1;
  int64_t free_host_bytes = -1;  // for one rank; negative if not known
  int64_t free_gpu_bytes = 0;
  int64_t attention_bytes = 0;      // that attention's backward may take where it can do with less
  int64_t library_bytes = 0;        // contexts, kernels, workspaces of products
  int64_t cores = 1;                // cores of one rank, for its judge
  std::optional<GpuKind> gpu = {};  // what a step's time is estimated from
};

// model.device must be decided: trainer/config/device.h.
PlanSite site_here(const RunConfig& config, const policy::Communicator& ranks);

// The names of the GPUs that site_named knows.
std::vector<std::string> gpu_kinds();

// "8xH100-80": a rank on each of eight GPUs, 16 cores beside each. Errors: ConfigError naming the GPUs that
// are known.
PlanSite site_named(const std::string& machine);

// The same site with another number of GPUs.
PlanSite with_ranks(PlanSite site, int64_t ranks);

// Bytes that can be taken before the machine, or our control group, has none.
int64_t available_memory_bytes();

}  // namespace temper::trainer
