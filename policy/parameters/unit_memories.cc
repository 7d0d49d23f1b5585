#include "policy/parameters/unit_memories.h"

#include "base/error.h"
#include "policy/parameters/unsummed_gradients.h"

namespace temper::policy {

size_t place_in_turn(size_t unit, size_t units, size_t blocks) {
  return unit == 0 ? 0 : unit + 1 == units ? 1 : 2 + unit % blocks;
}

std::vector<int64_t> memory_sizes(const std::vector<ParameterUnit>& units, size_t memories,
                                  const std::function<size_t(size_t unit)>& place) {
  std::vector<int64_t> sizes(memories);
  for (size_t unit = 0; unit < units.size(); ++unit) {
    int64_t& size = sizes[place(unit)];
    TEMPER_CHECK(size == 0 || size == units[unit].size, "{} has another size than the blocks",
                 units[unit].name);
    size = units[unit].size;
  }
  return sizes;
}

}  // namespace temper::policy
