#include "env/plan/recorder/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace temper::env {
namespace {

constexpr const char* kChanges =
    "launch must do the same each time it is called: keep no state, ask no clock, look at no address";

// Thrown and caught in this file alone.
struct Failed {
  Finding failure;
};

[[noreturn]] void fail(VerdictKind kind, std::string reason, std::string detail) {
  throw Failed{{kind, std::move(reason), std::move(detail)}};
}

[[noreturn]] void fail_changed(size_t step, std::string_view what) {
  fail(VerdictKind::kRejectPolicy, "changing_plan",
       fmt::format("called again, launch makes another {} in step {}; {}", what, step + 1, kChanges));
}

uint32_t word_at(const std::vector<uint8_t>& bytes, size_t at) {
  uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

class Resolver {
 public:
  Resolver(const Recording& first, const Recording& second, const std::vector<PlanKernel>& settings)
      : first_(first), second_(second), settings_(settings) {}

  LaunchPlan plan() {
    if (first_.steps.size() != second_.steps.size())
      fail_changed(std::min(first_.steps.size(), second_.steps.size()), "number of steps");
    for (step_ = 0; step_ < first_.steps.size(); ++step_) {
      if (first_.steps[step_].index() != second_.steps[step_].index()) fail_changed(step_, "kind of call");
      std::visit(
          [&](const auto& one) {
            plan_.steps.emplace_back(merge(one, std::get<std::decay_t<decltype(one)>>(second_.steps[step_])));
          },
          first_.steps[step_]);
    }
    if (plan_.workspaces.size() > kMaxPlanWorkspaces)
      fail(VerdictKind::kFailPlan, "too_many_workspaces",
           fmt::format("{} workspaces; at most {}: allocate one and divide it", plan_.workspaces.size(),
                       kMaxPlanWorkspaces));
    return std::move(plan_);
  }

 private:
  KernelLaunch merge(const RawLaunch& a, const RawLaunch& b) {
    KernelLaunch same = b.launch;
    same.arguments = a.launch.arguments;
    if (!(same == a.launch)) fail_changed(step_, "launch");
    KernelLaunch launch = a.launch;
    launch.kernel = kernel(a.launch.kernel);
    for (uint32_t at = 0; at < launch.arguments.size();) at = argument(a, b, at, launch);
    if (launch.relocations.size() > kMaxRelocations)
      fail(VerdictKind::kFailPlan, "too_many_pointers",
           fmt::format("a launch of {} with {} pointers", a.kernel_name, launch.relocations.size()));
    return launch;
  }

  Memset merge(const RawMemset& a, const RawMemset& b) {
    if (a.value != b.value || a.bytes != b.bytes) fail_changed(step_, "memset");
    return {range(a.to, b.to, a.bytes, true), a.value, 1, a.bytes};
  }

  Copy merge(const RawCopy& a, const RawCopy& b) {
    if (a.bytes != b.bytes) fail_changed(step_, "copy");
    return {range(a.to, b.to, a.bytes, true), range(a.from, b.from, a.bytes, false), a.bytes};
  }

  // The argument byte at `at`, or the pointer there; returns what comes next.
  uint32_t argument(const RawLaunch& a, const RawLaunch& b, uint32_t at, KernelLaunch& launch) {
    const auto in_a = a.pointers.find(at), in_b = b.pointers.find(at);
    const bool equal = a.launch.arguments[at] == b.launch.arguments[at];
    if (in_a != a.pointers.end() && in_b != b.pointers.end()) {
      const bool same_bytes = std::equal(a.launch.arguments.begin() + at, a.launch.arguments.begin() + at + 8,
                                         b.launch.arguments.begin() + at);
      // An address of none of the buffers that did not move is a number.
      if (in_a->second.inside || in_b->second.inside || !same_bytes) {
        launch.relocations.push_back({at, pointer(in_a->second, in_b->second, a.kernel_name)});
        std::fill_n(launch.arguments.begin() + at, 8, 0);
        return at + 8;
      }
    }
    if (equal) return at + 1;
    return leftover(a, b, at, launch);
  }

  // Half of a pointer can only be what was left on the stack where a structure has no field.
  uint32_t leftover(const RawLaunch& a, const RawLaunch& b, uint32_t at, KernelLaunch& launch) {
    const uint32_t word = at / 4 * 4;
    if (word + 4 > launch.arguments.size() ||
        !half_pointer(word_at(a.launch.arguments, word), word_at(b.launch.arguments, word)))
      fail_changed(step_, "argument of " + a.kernel_name);
    std::fill_n(launch.arguments.begin() + word, 4, 0);
    return word + 4;
  }

  bool half_pointer(uint32_t in_a, uint32_t in_b) const {
    const size_t count = std::min(first_.buffers.size(), second_.buffers.size());
    for (size_t i = 0; i < count; ++i) {
      const DeviceBuffer &a = first_.buffers[i], &b = second_.buffers[i];
      const uint32_t offset = in_a - uint32_t(a.address);
      if (offset == in_b - uint32_t(b.address) && offset <= a.bytes) return true;
      if (in_a == (a.address >> 32) && in_b == (b.address >> 32)) return true;
    }
    return false;
  }

  DevicePointer pointer(const Place& a, const Place& b, std::string_view where) {
    if (!a.inside || !b.inside)
      fail(VerdictKind::kFailPlan, "pointer_outside",
           fmt::format("a pointer given to {} lies in no buffer, or in one that was freed", where));
    const bool workspaces = a.buffer.space == Space::kWorkspace && b.buffer.space == Space::kWorkspace;
    const uint32_t in_a = workspaces ? number(first_numbers_, a) : a.buffer.index;
    const uint32_t in_b = workspaces ? number(second_numbers_, b) : b.buffer.index;
    if (a.buffer.space != b.buffer.space || in_a != in_b || a.offset != b.offset ||
        a.buffer.bytes != b.buffer.bytes)
      fail_changed(step_, fmt::format("pointer for {}", where));
    if (workspaces && in_a == plan_.workspaces.size()) plan_.workspaces.push_back(int64_t(a.buffer.bytes));
    return {a.buffer.space, in_a, a.offset};
  }

  DevicePointer range(const Place& a, const Place& b, int64_t bytes, bool written) {
    const DevicePointer found = pointer(a, b, written ? "a memset or copy" : "a copy");
    if (bytes > int64_t(a.buffer.bytes) - found.offset)
      fail(VerdictKind::kFailPlan, "copy_outside",
           fmt::format("a memset or copy of {} bytes leaves its buffer of {}", bytes, a.buffer.bytes));
    if (written && found.space == Space::kInput)
      fail(VerdictKind::kHack, "input_mutation", "a memset or copy writes an input");
    return found;
  }

  // Workspaces get the numbers of their first use, so that one that was kept from an earlier call is like a
  // new one.
  static uint32_t number(std::map<uint32_t, uint32_t>& numbers, const Place& place) {
    return numbers.emplace(place.buffer.index, uint32_t(numbers.size())).first->second;
  }

  uint32_t kernel(uint32_t of_cubin) {
    const auto [it, added] = kernels_.emplace(of_cubin, uint32_t(plan_.kernels.size()));
    if (added) plan_.kernels.push_back(settings_.at(of_cubin));
    if (plan_.kernels.size() > kMaxPlanKernels)
      fail(VerdictKind::kFailPlan, "too_many_kernels", fmt::format("more than {} kernels", kMaxPlanKernels));
    return it->second;
  }

  const Recording &first_, &second_;
  const std::vector<PlanKernel>& settings_;
  LaunchPlan plan_;
  std::map<uint32_t, uint32_t> kernels_, first_numbers_, second_numbers_;
  size_t step_ = 0;
};

}  // namespace

Found resolve(const Recording& first, const Recording& second, const std::vector<PlanKernel>& settings,
              LaunchPlan& plan) {
  try {
    plan = Resolver(first, second, settings).plan();
    return std::nullopt;
  } catch (const Failed& failed) {
    return failed.failure;
  }
}

}  // namespace temper::env
