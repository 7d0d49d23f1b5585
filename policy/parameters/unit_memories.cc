#include "policy/parameters/unit_memories.h"

#include <algorithm>

#include "policy/parameters/unsummed_gradients.h"

namespace temper::policy {

size_t place_in_turn(size_t unit, const std::vector<ParameterUnit>& units, size_t blocks) {
  if (unit == 0 || units[unit].has_head) return 0;
  return unit + 1 == units.size() ? 1 : 2 + unit % blocks;
}

std::vector<int64_t> memory_sizes(const std::vector<ParameterUnit>& units, size_t memories,
                                  const std::function<size_t(size_t unit)>& place) {
  std::vector<int64_t> sizes(memories);
  for (size_t unit = 0; unit < units.size(); ++unit) {
    int64_t& size = sizes[place(unit)];
    size = std::max(size, units[unit].size);
  }
  return sizes;
}

}  // namespace temper::policy
