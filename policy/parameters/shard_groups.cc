#include "policy/parameters/shard_groups.h"

#include <fmt/ranges.h>

#include <vector>

#include "base/error.h"

namespace temper::policy {
namespace {

std::vector<int> every(int first, int step, int count) {
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(first + i * step);
  return ranks;
}

}  // namespace

int64_t shard_group_size(int64_t degree, int64_t ranks) { return degree == 0 ? ranks : degree; }

void check_shard_degree(int64_t degree, int64_t ranks) {
  const int64_t size = shard_group_size(degree, ranks);
  if (size >= 1 && size <= ranks && ranks % size == 0) return;
  std::vector<int64_t> allowed;
  for (int64_t divisor = 1; divisor <= ranks; ++divisor)
    if (ranks % divisor == 0) allowed.push_back(divisor);
  throw ConfigError(
      "model.shard_degree: {} does not divide the {} rank{} that hold{} the policy: must be one of {}, or 0 "
      "for all",
      degree, ranks, ranks == 1 ? "" : "s", ranks == 1 ? "s" : "", fmt::join(allowed, ", "));
}

ShardGroups::ShardGroups(Communicator& all, int64_t degree) : all_(all), shard_(&all), replicas_(&alone()) {
  check_shard_degree(degree, all.size());
  const auto size = int(shard_group_size(degree, all.size()));
  if (size == all.size()) return;
  const int place = all.rank() % size, groups = all.size() / size;
  made_shard_ = all.group(every(all.rank() - place, 1, size), "shard groups");
  made_replicas_ = all.group(every(place, size, groups), "replicas");
  shard_ = made_shard_.get(), replicas_ = made_replicas_.get();
}

}  // namespace temper::policy
