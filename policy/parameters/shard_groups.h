#pragma once
// The ranks in two ways, for hybrid sharding (HSDP). A shard group shares one copy of master weights, moments and
// gradients; its ranks follow one another, so that a group of a host's ranks stays on the host. The ranks that hold the
// same share in different shard groups are replicas. With one shard group of all ranks (ZeRO) there are no replicas.
//
// Source: Zhao et al., "PyTorch FSDP" (VLDB 2023), section 3.2.2; Zhang et al., "MiCS" (VLDB 2022).

#include <cstdint>
#include <memory>

#include "policy/ranks/communicator.h"

namespace temper::policy {

// The ranks of a shard group: `degree`, where 0 stands for all.
int64_t shard_group_size(int64_t degree, int64_t ranks);

// Errors: ConfigError naming model.shard_degree, its value and those that are allowed.
void check_shard_degree(int64_t degree, int64_t ranks);

class ShardGroups {
 public:
  // All ranks call it. Errors: as above.
  ShardGroups(Communicator& all, int64_t degree);

  Communicator& all() const { return all_; }
  Communicator& shard() const { return *shard_; }
  Communicator& replicas() const { return *replicas_; }

 private:
  Communicator& all_;
  std::unique_ptr<Communicator> made_shard_, made_replicas_;
  Communicator *shard_, *replicas_;  // those, or all ranks, or this one alone
};

}  // namespace temper::policy
