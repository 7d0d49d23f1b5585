#pragma once
// Memories that units take in turn, so that there need not be one for each.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace temper::policy {

struct ParameterUnit;

// Where a unit's numbers lie, of `units`: the embedding's in memory 0, the final unit's in memory 1, and those of the blocks in
// the `blocks` memories behind these. That many neighbouring blocks lie in different memories. A final unit with a head that is
// not the embedding takes turns with the embedding, because all blocks are between them.
size_t place_in_turn(size_t unit, const std::vector<ParameterUnit>& units, size_t blocks);

// Elements of each of `memories` memories, those of its largest unit; 0 where no unit needs it.
std::vector<int64_t> memory_sizes(const std::vector<ParameterUnit>& units, size_t memories,
                                  const std::function<size_t(size_t unit)>& place);

}  // namespace temper::policy
