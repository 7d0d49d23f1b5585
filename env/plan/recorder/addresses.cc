#include "env/plan/recorder/addresses.h"

#include <sys/random.h>

#include <algorithm>

namespace temper::env {
namespace {

// Above what small integers reach, below where Linux puts programs.
constexpr uint64_t kFirst = 0x1000'0000'0000, kOfRun = 0x0100'0000'0000;
constexpr int kRuns = 64;
constexpr uint64_t kAlign = 256;  // as cudaMalloc's, and the runner's
constexpr uint64_t kMinGap = 1 << 20, kMaxGap = 64 << 20;
constexpr size_t kMaxAllocations = 8192;

uint64_t random_below(uint64_t bound) {
  uint64_t value = 0;
  if (::getrandom(&value, sizeof value, 0) != ssize_t(sizeof value)) value = 0;
  return value % bound;
}

uint64_t aligned(uint64_t address) { return (address + kAlign - 1) / kAlign * kAlign; }

}  // namespace

void Addresses::begin_run(const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs) {
  ++run_;
  next_ = aligned(kFirst + uint64_t(run_ % kRuns) * kOfRun + random_below(kOfRun / 4));
  task_.clear();
  for (size_t i = 0; i < inputs.size(); ++i)
    task_.push_back(
        {next_address(uint64_t(inputs[i])), uint64_t(inputs[i]), Space::kInput, uint32_t(i), run_, true});
  for (size_t i = 0; i < outputs.size(); ++i)
    task_.push_back(
        {next_address(uint64_t(outputs[i])), uint64_t(outputs[i]), Space::kOutput, uint32_t(i), run_, true});
}

uint64_t Addresses::next_address(uint64_t bytes) {
  const uint64_t address = next_;
  next_ = aligned(next_ + bytes + kMinGap + random_below(kMaxGap - kMinGap));
  return address;
}

uint64_t Addresses::allocate(uint64_t bytes) {
  for (DeviceBuffer& old : workspaces_)
    if (!old.live && old.run == run_ && old.bytes == bytes) {
      old.live = true;
      return old.address;
    }
  if (workspaces_.size() >= kMaxAllocations) return 0;
  workspaces_.push_back(
      {next_address(bytes), bytes, Space::kWorkspace, uint32_t(workspaces_.size()), run_, true});
  return workspaces_.back().address;
}

bool Addresses::release(uint64_t address) {
  for (DeviceBuffer& one : workspaces_)
    if (one.live && one.address == address) {
      one.live = false;
      return true;
    }
  return false;
}

uint64_t Addresses::live_bytes() const {
  uint64_t sum = 0;
  for (const DeviceBuffer& one : workspaces_) sum += one.live ? one.bytes : 0;
  return sum;
}

std::optional<Place> Addresses::find(uint64_t value) const {
  if (value < kFirst || value >= kFirst + kRuns * kOfRun) return std::nullopt;
  for (const auto* buffers : {&task_, &workspaces_})
    for (const DeviceBuffer& one : *buffers)
      if (value >= one.address &&
          value <= one.address + one.bytes)  // one past the end is an address of it, too
        return Place{one.live, one, int64_t(value - one.address)};
  return Place{};
}

std::vector<DeviceBuffer> Addresses::of_this_run() const {
  std::vector<DeviceBuffer> buffers = task_;
  std::copy_if(workspaces_.begin(), workspaces_.end(), std::back_inserter(buffers),
               [&](const DeviceBuffer& one) { return one.run == run_; });
  return buffers;
}

}  // namespace temper::env
