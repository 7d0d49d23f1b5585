#pragma once
// This process's rank and the number of ranks, read from the environment variables that its launcher sets.
//
//   by hand    TEMPER_RANK, TEMPER_WORLD_SIZE, TEMPER_LOCAL_RANK, and TEMPER_MASTER, the host:port of rank 0
//   mpirun     OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_RANK
//   torchrun   RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT
//   srun       SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID, SLURM_JOB_NODELIST
//
// The first of these sets that is present is used. Without any, the process is a single rank. So is a process of a SLURM
// allocation that srun did not start.

#include <cstdint>
#include <functional>
#include <string>

namespace temper::policy {

enum class Launcher : uint8_t { kNone, kByHand, kMpi, kTorchrun, kSlurm };

struct RankPlace {
  Launcher launcher = Launcher::kNone;
  int rank = 0, size = 1;
  int local_rank = -1;  // among the ranks of this host; −1 if the launcher does not set it
  // The address at which the ranks connect. Not set with mpirun.
  std::string master_host = {};
  int master_port = 0;
  bool master_listens = false;  // the launcher has a store there already (torchrun's agent)
  // A warning about another set of variables that contradicts this one, or "". It is printed once the ranks are
  // connected.
  std::string contradiction = {};
  // What a single rank should be told about its surroundings, or "".
  std::string hint = {};
};

using Environment = std::function<const char*(const char* name)>;

// Errors: ConfigError naming variable and value where the set is incomplete or impossible.
RankPlace find_rank_place(const Environment& environment);
RankPlace find_rank_place();  // of this process

// "node[03-05,9],gpu1" → "node03". Source: slurm's hostlist format.
std::string first_host(const std::string& node_list);

}  // namespace temper::policy
