#include "policy/parameters/gathered_weights.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "policy/parameters/flat.h"
#include "policy/parameters/unit_memories.h"

namespace temper::policy {
namespace {

constexpr size_t kBlockMemories = 3;
constexpr size_t kAhead = kBlockMemories - 1;

size_t gathered_place_of(size_t unit, const std::vector<ParameterUnit>& units) {
  return place_in_turn(unit, units, kBlockMemories);
}

std::vector<int64_t> gathered_sizes(const std::vector<ParameterUnit>& units) {
  return memory_sizes(units, 2 + kBlockMemories, [&](size_t unit) { return gathered_place_of(unit, units); });
}

}  // namespace

GatheredWeights::GatheredWeights(std::vector<ParameterUnit> units, Communicator& ranks,
                                 const at::TensorOptions& options)
    : units_(std::move(units)), ranks_(ranks) {
  for (const ParameterUnit& unit : units_) names_.push_back(lasting_name("weights of " + unit.name));
  for (const int64_t size : gathered_sizes(units_))
    memories_.push_back({.weights = allocate_zeros(size, options)});
}

int64_t GatheredWeights::size(const std::vector<ParameterUnit>& units) {
  const std::vector<int64_t> sizes = gathered_sizes(units);
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
}

GatheredWeights::Memory& GatheredWeights::memory_of(size_t unit) {
  return memories_[gathered_place_of(unit, units_)];
}

at::Tensor GatheredWeights::of(size_t unit) const {
  return memories_[gathered_place_of(unit, units_)].weights.narrow(0, 0, units_[unit].size);
}

// When a unit is waited for, the block whose memory the last of the next ones takes has been given to the current stream. Where
// there is but one block, the embedding is waited for in the memory that the head takes next: that one begins a unit later. The
// copy follows on that stream, and a gather begins after the copy, so that neither overwrites what is still read.
void GatheredWeights::wait(size_t unit, Pass pass, const at::Tensor& shares) {
  const size_t left = pass == Pass::kForward ? units_.size() - 1 - unit : unit;
  for (size_t ahead = 0; ahead <= std::min(kAhead, left); ++ahead) {
    const size_t next = pass == Pass::kForward ? unit + ahead : unit - ahead;
    const bool in_use = next != unit && &memory_of(next) == &memory_of(unit);
    if (!in_use && memory_of(next).unit != next) start(next, shares);
  }
  memory_of(unit).gather.wait_on_stream();
}

void GatheredWeights::start(size_t unit, const at::Tensor& shares) {
  Memory& memory = memory_of(unit);
  memory.gather.wait_on_stream();
  memory.unit = unit;
  at::Tensor weights = of(unit);
  copy_in_pieces(ranks_.share_of(weights),
                 shares.narrow(0, units_[unit].offset / ranks_.size(), units_[unit].size / ranks_.size()));
  memory.gather = ranks_.start_all_gather(weights, names_[unit]);
}

void GatheredWeights::forget(size_t unit) {
  if (Memory& memory = memory_of(unit); memory.unit == unit) memory.unit.reset();
}

void GatheredWeights::forget() {
  for (Memory& memory : memories_) memory.unit.reset();
}

}  // namespace temper::policy
