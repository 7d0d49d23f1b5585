#include "policy/parameters/unsummed_gradients.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "policy/parameters/flat.h"

namespace temper::policy {
namespace {

// In which of the memories a unit's gradient lies. Under ZeRO-2 neighbouring blocks lie in different ones.
size_t place_of(size_t unit, size_t units, int64_t zero_stage) {
  if (zero_stage == 1) return unit;
  return unit == 0 ? 0 : unit + 1 == units ? 1 : 2 + unit % 2;
}

// Elements of each memory; 0 where no unit needs it.
std::vector<int64_t> memory_sizes(const std::vector<ParameterUnit>& units, int64_t zero_stage) {
  std::vector<int64_t> sizes(zero_stage == 1 ? units.size() : 4);
  for (size_t unit = 0; unit < units.size(); ++unit) {
    int64_t& size = sizes[place_of(unit, units.size(), zero_stage)];
    TEMPER_CHECK(size == 0 || size == units[unit].size, "{} has another size than the blocks",
                 units[unit].name);
    size = units[unit].size;
  }
  return sizes;
}

}  // namespace

UnsummedGradients::UnsummedGradients(std::vector<ParameterUnit> units, int64_t zero_stage,
                                     Communicator& ranks, at::Tensor shares)
    : units_(std::move(units)), zero_stage_(zero_stage), ranks_(ranks), shares_(std::move(shares)) {
  for (const ParameterUnit& unit : units_) names_.push_back(lasting_name("gradients of " + unit.name));
  for (const int64_t size : memory_sizes(units_, zero_stage_))
    memories_.push_back({.gradient = allocate_zeros(size, shares_.options())});
}

int64_t UnsummedGradients::size(const std::vector<ParameterUnit>& units, int64_t zero_stage) {
  const std::vector<int64_t> sizes = memory_sizes(units, zero_stage);
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
}

UnsummedGradients::Memory& UnsummedGradients::memory_of(size_t unit) {
  return memories_[place_of(unit, units_.size(), zero_stage_)];
}

at::Tensor UnsummedGradients::of(size_t unit) { return memory_of(unit).gradient; }

at::Tensor UnsummedGradients::share_of(size_t unit) const {
  return shares_.narrow(0, units_[unit].offset / ranks_.size(), units_[unit].size / ranks_.size());
}

void UnsummedGradients::start_sum(size_t unit) {
  Memory& memory = memory_of(unit);
  finish(memory);
  memory.sum = ranks_.start_reduce_scatter(memory.gradient, names_[unit]);
  memory.unit = unit;
  if (unit > 0) finish(memory_of(unit - 1));
}

void UnsummedGradients::finish_sums() {
  for (Memory& memory : memories_) finish(memory);
}

void UnsummedGradients::finish(Memory& memory) {
  if (!memory.unit) return;
  memory.sum.wait_on_stream();
  add_to(share_of(*memory.unit), ranks_.share_of(memory.gradient));
  clear(memory.gradient);
  memory.unit.reset();
}

}  // namespace temper::policy
