#include "policy/parameters/not_finite.h"

#include <fmt/format.h>

#include <algorithm>

#include "policy/ranks/communicator.h"

namespace temper::policy {

NotFinite over_ranks(const NotFinite& mine, Communicator& ranks) {
  if (ranks.size() == 1) return mine;
  NotFinite all{.count = int64_t(ranks.sum(double(mine.count), "weights"))};
  for (const std::string& where : ranks.all_gather(mine.where, "weights"))
    if (all.where.empty()) all.where = where;
  return all;
}

std::string to_text(const NotFinite& found) {
  if (found.count == 0) return "";
  return fmt::format("{} of the weights' numbers are not finite, the first in {}", found.count, found.where);
}

}  // namespace temper::policy
