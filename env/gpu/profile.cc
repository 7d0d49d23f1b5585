#include "env/gpu/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "env/box/wire.h"
#include "env/plan/kernel_name.h"

namespace temper::env {
namespace {

constexpr const char* kMemsets = "(memset)";
constexpr const char* kCopies = "(copy)";

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

std::vector<DeviceRecord> of_kind(const std::vector<DeviceRecord>& records, DeviceRecord::Kind kind) {
  std::vector<DeviceRecord> some;
  for (const DeviceRecord& record : records)
    if (record.kind == kind) some.push_back(record);
  std::sort(some.begin(), some.end(), [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  return some;
}

template <class What>
std::vector<const What*> steps_of(const LaunchPlan& plan) {
  std::vector<const What*> steps;
  for (const Step& step : plan.steps)
    if (const auto* one = std::get_if<What>(&step)) steps.push_back(one);
  return steps;
}

std::string extents(const DeviceRecord& record) {
  return fmt::format("{}x{}x{} blocks of {}x{}x{}", record.grid.x, record.grid.y, record.grid.z,
                     record.block.x, record.block.y, record.block.z);
}

// Evidence that the kernels which ran are not the plan's, or "".
std::string foreign_among(const std::vector<DeviceRecord>& ran,
                          const std::vector<const KernelLaunch*>& planned) {
  if (ran.size() > planned.size())
    return fmt::format("{} kernels ran, its launcher starts {}", ran.size(), planned.size());
  if (ran.size() < planned.size()) return "";
  for (size_t i = 0; i < ran.size(); ++i)
    if (ran[i].grid != planned[i]->grid || ran[i].block != planned[i]->block)
      return fmt::format("{} ran unasked", extents(ran[i]));
  return "";
}

using Parts = std::map<std::string, ProfilePart>;

void add(Parts& parts, const std::string& name, const DeviceRecord& record) {
  ProfilePart& part = parts[name];
  part.us += double(record.end_ns - record.begin_ns) * 1e-3;
  ++part.launches;
}

void list_parts(const Parts& seen, ProfileWire& wire) {
  std::vector<ProfilePart> parts;
  for (const auto& [name, part] : seen) {
    parts.push_back(part);
    write(parts.back().name, name);
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
  using Kind = DeviceRecord::Kind;
  const auto launches = steps_of<KernelLaunch>(plan);
  const auto kernels = of_kind(records, Kind::kKernel), memsets = of_kind(records, Kind::kMemset),
             copies = of_kind(records, Kind::kCopy);
  ProfileWire wire;
  for (const DeviceRecord& record : records)
    if (record.begin_ns == 0 || record.end_ns < record.begin_ns) return wire;
  write(wire.foreign, foreign_among(kernels, launches));
  // A memset or a copy of nothing leaves no record.
  if (wire.foreign[0] != 0 || kernels.size() < launches.size() ||
      memsets.size() > steps_of<Memset>(plan).size() || copies.size() > steps_of<Copy>(plan).size())
    return wire;
  Parts seen;
  for (size_t i = 0; i < kernels.size(); ++i)
    add(seen, kernel_title(plan.kernels[launches[i]->kernel].name), kernels[i]);
  for (const DeviceRecord& record : memsets) add(seen, kMemsets, record);
  for (const DeviceRecord& record : copies) add(seen, kCopies, record);
  wire.device_us = union_us(records);
  wire.kernel_us = union_us(kernels);
  if (wire.device_us > 0) list_parts(seen, wire);
  return wire;
}

RoofTimes roof_times(const Task& task, const GpuFactsWire& gpu, size_t timed, double in_cache) {
  const double flops_per_s = flops_per_cycle(task) * gpu.multiprocessors * gpu.clock_hz;
  const TimedShape shape = task.timed(timed);
  return {(shape.min_bytes - in_cache) / gpu.bytes_per_s, shape.min_flops / flops_per_s};
}

Profile profile_of(const ProfileWire& wire, const Task& task, const GpuFactsWire& gpu, double candidate_us,
                   size_t timed) {
  Profile profile;
  for (int32_t i = 0; i < wire.parts; ++i) {
    const ProfilePart& part = wire.part[i];
    profile.kernels.push_back(
        {text_of(part.name), part.launches, part.us, std::min(1.0, part.us / wire.device_us)});
  }
  profile.device_us = wire.device_us;
  const RoofTimes roofs = roof_times(task, gpu, timed);
  const TimedShape shape = task.timed(timed);
  profile.bytes_per_s = shape.min_bytes / (candidate_us * 1e-6);
  profile.flops_per_s = shape.min_flops / (candidate_us * 1e-6);
  profile.roof = roofs.memory_s >= roofs.arithmetic_s ? "memory" : "arithmetic";
  profile.roof_share = roofs.us() / candidate_us;
  return profile;
}

}  // namespace temper::env
