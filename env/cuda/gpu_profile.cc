#include "env/cuda/gpu_profile.h"

#include <algorithm>
#include <map>

#include "env/box/wire.h"
#include "env/cuda/kernel_name.h"

namespace temper {
namespace {

constexpr const char* kOwnKernels = "temper_";  // env/cuda/gpu_kernels.cu
constexpr const char* kMemsets = "(memset)";
constexpr const char* kCopies = "(copy)";

// Of each part of a plan: how often it is launched.
std::map<std::string, uint32_t> launches_of(const LaunchPlan& plan) {
  std::map<std::string, uint32_t> launches{{kMemsets, 0}, {kCopies, 0}};
  for (const Step& step : plan.steps) {
    const auto* launch = std::get_if<KernelLaunch>(&step);
    ++launches[launch != nullptr                      ? plan.kernels[launch->kernel].name
               : std::holds_alternative<Memset>(step) ? kMemsets
                                                      : kCopies];
  }
  return launches;
}

std::string part_of(const DeviceRecord& record) {
  if (record.kind == DeviceRecord::Kind::kKernel) return record.name;
  return record.kind == DeviceRecord::Kind::kMemset ? kMemsets : kCopies;
}

template <size_t kSize>
void write(char (&field)[kSize], const std::string& text) {
  text.copy(field, kSize - 1);
}

// Time covered by the intervals, which may overlap.
double union_us(std::vector<DeviceRecord> records) {
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  uint64_t covered = 0, end = 0;
  for (const DeviceRecord& record : records) {
    if (record.end_ns <= end) continue;
    covered += record.end_ns - std::max(record.begin_ns, end);
    end = record.end_ns;
  }
  return double(covered) * 1e-3;
}

// Whether a call's records are all there, and no other's. A memset or a copy of nothing leaves none.
bool complete(const std::map<std::string, uint32_t>& planned,
              const std::map<std::string, ProfilePart>& seen) {
  for (const auto& [name, launches] : planned) {
    const auto part = seen.find(name);
    const uint32_t found = part == seen.end() ? 0 : part->second.launches;
    const bool kernel = name != kMemsets && name != kCopies;
    if (kernel ? found != launches : found > launches) return false;
  }
  return true;
}

void list_parts(const std::map<std::string, ProfilePart>& seen, ProfileWire& wire) {
  std::vector<ProfilePart> parts;
  for (const auto& [name, part] : seen) {
    parts.push_back(part);
    write(parts.back().name, kernel_title(name));
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.us > b.us; });
  parts.resize(std::min<size_t>(parts.size(), kMaxProfileParts));
  for (const ProfilePart& part : parts) wire.part[wire.parts++] = part;
}

double flops_per_cycle(const Task& task) {
  constexpr double kShortFlops = 4096, kParts = 3;
  for (const auto* tensors : {&task.inputs, &task.outputs})
    for (const TensorSpec& tensor : *tensors)
      if (is_float(tensor.type) && element_size(tensor.type) == 2) return kShortFlops;
  return kShortFlops / kParts;
}

}  // namespace

ProfileWire summarize(const std::vector<DeviceRecord>& records, const LaunchPlan& plan) {
  const auto planned = launches_of(plan);
  ProfileWire wire;
  std::map<std::string, ProfilePart> seen;
  std::vector<DeviceRecord> mine, kernels;
  for (const DeviceRecord& record : records) {
    const std::string name = part_of(record);
    const auto known = planned.find(name);
    if (known == planned.end() && name.starts_with(kOwnKernels)) continue;
    if (record.begin_ns == 0 || record.end_ns < record.begin_ns) return wire;
    ProfilePart& part = seen[name];
    part.us += double(record.end_ns - record.begin_ns) * 1e-3;
    ++part.launches;
    mine.push_back(record);
    if (record.kind != DeviceRecord::Kind::kKernel) continue;
    kernels.push_back(record);
    if (known == planned.end()) write(wire.foreign, kernel_title(name));
  }
  if (!complete(planned, seen)) return wire;
  wire.device_us = union_us(mine);
  wire.kernel_us = union_us(kernels);
  if (wire.device_us > 0) list_parts(seen, wire);
  return wire;
}

RoofTimes roof_times(const Task& task, const GpuFactsWire& gpu, double in_cache) {
  const double flops_per_s = flops_per_cycle(task) * gpu.multiprocessors * gpu.clock_hz;
  return {(task.min_bytes - in_cache) / gpu.bytes_per_s, task.min_flops / flops_per_s};
}

Profile profile_of(const ProfileWire& wire, const Task& task, const GpuFactsWire& gpu, double candidate_us) {
  Profile profile;
  for (int32_t i = 0; i < wire.parts; ++i) {
    const ProfilePart& part = wire.part[i];
    profile.kernels.push_back(
        {text_of(part.name), part.launches, part.us, std::min(1.0, part.us / wire.device_us)});
  }
  profile.device_us = wire.device_us;
  const RoofTimes roofs = roof_times(task, gpu);
  profile.bytes_per_s = task.min_bytes / (candidate_us * 1e-6);
  profile.flops_per_s = task.min_flops / (candidate_us * 1e-6);
  profile.roof = roofs.memory_s >= roofs.arithmetic_s ? "memory" : "arithmetic";
  profile.roof_share = 1e6 * std::max(roofs.memory_s, roofs.arithmetic_s) / candidate_us;
  return profile;
}

}  // namespace temper
