#include "policy/parameters/not_finite.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
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

std::string place_in(const std::vector<int64_t>& shape, int64_t index) {
  std::vector<int64_t> place(shape.size());
  for (size_t i = shape.size(); i-- > 0; index /= shape[i]) place[i] = index % shape[i];
  return fmt::format("[{}]", fmt::join(place, ", "));
}

void TooLargeNumbers::add(const std::string& tensor, const std::vector<int64_t>& shape, int64_t offset,
                          int64_t begin, const TooLarge& found) {
  if (found.count == 0) return;
  const std::scoped_lock lock(mutex_);
  count_ += found.count;
  const int64_t index = begin + found.first;
  if (offset + index >= first_) return;
  first_ = offset + index;
  value_ = found.value;
  place_ = fmt::format("{}: {} at {}", tensor, value_, place_in(shape, index));
}

void TooLargeNumbers::throw_if_any(at::ScalarType type) const {
  const std::scoped_lock lock(mutex_);
  if (count_ == 0) return;
  std::vector<const char*> others;
  for (const at::ScalarType other : {at::kBFloat16, at::kFloat})
    if (largest_of(other) >= std::abs(value_)) others.push_back(config_name(other));
  if (others.empty()) others.push_back(config_name(at::kDouble));
  throw ConfigError(
      "{}: {} cannot hold it, its largest number is {} ({} of the weights' numbers are beyond it); choose {}",
      place_, config_name(type), largest_of(type), count_, fmt::join(others, " or "));
}

}  // namespace temper::policy
