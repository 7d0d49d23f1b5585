#include "policy/parameters/unsummed_gradients.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "policy/parameters/flat.h"
#include "policy/parameters/unit_memories.h"

namespace temper::policy {
namespace {

constexpr size_t kBlocksInTurn = 2;

// In which of the memories a unit's gradient lies. Under ZeRO-2 neighbouring blocks lie in different ones.
size_t place_of(size_t unit, const std::vector<ParameterUnit>& units, int64_t zero_stage) {
  return zero_stage == 1 ? unit : place_in_turn(unit, units, kBlocksInTurn);
}

std::vector<int64_t> sizes_of(const std::vector<ParameterUnit>& units, int64_t zero_stage) {
  return memory_sizes(units, zero_stage == 1 ? units.size() : 2 + kBlocksInTurn,
                      [&](size_t unit) { return place_of(unit, units, zero_stage); });
}

}  // namespace

UnsummedGradients::UnsummedGradients(std::vector<ParameterUnit> units, int64_t zero_stage,
                                     Communicator& ranks, at::Tensor shares)
    : units_(std::move(units)), zero_stage_(zero_stage), ranks_(ranks), shares_(std::move(shares)) {
  for (const ParameterUnit& unit : units_) names_.push_back(lasting_name("gradients of " + unit.name));
  for (const int64_t size : sizes_of(units_, zero_stage_))
    memories_.push_back({.gradient = allocate_zeros(size, shares_.options())});
  in_share_.resize(units_.size());
}

int64_t UnsummedGradients::size(const std::vector<ParameterUnit>& units, int64_t zero_stage) {
  const std::vector<int64_t> sizes = sizes_of(units, zero_stage);
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
}

UnsummedGradients::Memory& UnsummedGradients::memory_of(size_t unit) {
  return memories_[place_of(unit, units_, zero_stage_)];
}

at::Tensor UnsummedGradients::of(size_t unit) {
  return memory_of(unit).gradient.narrow(0, 0, units_[unit].size);
}

at::Tensor UnsummedGradients::share_of(size_t unit) const {
  return shares_.narrow(0, units_[unit].offset / ranks_.size(), units_[unit].size / ranks_.size());
}

bool UnsummedGradients::begin(size_t unit) {
  Memory& memory = memory_of(unit);
  finish(memory);
  if (std::exchange(memory.begun, true)) return true;
  if (const int64_t padding = units_[unit].padding; padding > 0)
    clear(of(unit).narrow(0, units_[unit].size - padding, padding));
  return false;
}

void UnsummedGradients::start_sum(size_t unit) {
  Memory& memory = memory_of(unit);
  at::Tensor gradient = of(unit);
  if (!begin(unit)) clear(gradient);
  memory.adds = in_share_[unit];
  memory.sum = memory.adds ? ranks_.start_reduce_scatter(gradient, names_[unit])
                           : ranks_.start_reduce_scatter(gradient, share_of(unit), names_[unit]);
  memory.unit = unit;
  memory.begun = false;
  in_share_[unit] = true;
  if (unit > 0) finish(memory_of(unit - 1));
}

void UnsummedGradients::finish_sums() {
  for (Memory& memory : memories_) finish(memory);
}

void UnsummedGradients::finish_update() {
  finish_sums();
  in_share_.assign(units_.size(), false);
}

void UnsummedGradients::finish(Memory& memory) {
  if (!memory.unit) return;
  memory.sum.wait_on_stream();
  if (memory.adds) add_to(share_of(*memory.unit), ranks_.share_of(of(*memory.unit)));
  memory.unit.reset();
}

}  // namespace temper::policy
