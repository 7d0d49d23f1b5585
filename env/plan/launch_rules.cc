#include "env/plan/launch_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace temper::env {
namespace {

constexpr uint32_t kMaxGridX = 0x7FFFFFFF, kMaxGridYZ = 65535, kMaxBlockZ = 64;
constexpr uint32_t kRegisterUnit = 256, kRegisterParts = 4, kSharedUnit = 128, kRegistersOfThread = 255;

uint64_t rounded_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

std::string shown_extent(const Extent& extent) {
  return fmt::format("({}, {}, {})", extent.x, extent.y, extent.z);
}

LaunchCheck check_extents(const KernelLaunch& launch, const GpuTarget& target) {
  const Extent &grid = launch.grid, &block = launch.block;
  const auto refused = [](std::string words) {
    return LaunchCheck{Refusal::kConfiguration, std::move(words)};
  };
  if (grid.x == 0 || grid.y == 0 || grid.z == 0)
    return refused(fmt::format("a grid of {} is empty", shown_extent(grid)));
  if (block.x == 0 || block.y == 0 || block.z == 0)
    return refused(fmt::format("a block of {} is empty", shown_extent(block)));
  if (grid.x > kMaxGridX || grid.y > kMaxGridYZ || grid.z > kMaxGridYZ)
    return refused(fmt::format("a grid of {}; at most (2147483647, 65535, 65535)", shown_extent(grid)));
  const auto most = uint32_t(target.max_threads_per_block);
  if (block.x > most || block.y > most || block.z > kMaxBlockZ || block.count() > most)
    return refused(fmt::format("a block of {}; at most {} threads", shown_extent(block), most));
  return {};
}

LaunchCheck check_cluster(const CubinKernel& kernel, const PlanKernel& settings, const KernelLaunch& launch,
                          const GpuTarget& target) {
  const auto refused = [](std::string words) { return LaunchCheck{Refusal::kCluster, std::move(words)}; };
  const bool asked = launch.cluster != Extent{};
  const Extent& cluster = asked ? launch.cluster : kernel.cluster;
  if (asked && kernel.fixed_cluster && launch.cluster != kernel.cluster)
    return refused(fmt::format("a cluster of {}, but the kernel has __cluster_dims__{}",
                               shown_extent(launch.cluster), shown_extent(kernel.cluster)));
  if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0)
    return refused(fmt::format("a cluster of {} is empty", shown_extent(cluster)));
  const auto most = uint32_t(settings.nonportable_cluster ? target.max_cluster : target.portable_cluster);
  if (cluster.x > most || cluster.y > most || cluster.z > most || cluster.count() > most)
    return refused(fmt::format(
        "a cluster of {} blocks; at most {}{}", cluster.count(), most,
        settings.nonportable_cluster ? "" : " without cudaFuncAttributeNonPortableClusterSizeAllowed"));
  if (launch.grid.x % cluster.x || launch.grid.y % cluster.y || launch.grid.z % cluster.z)
    return refused(fmt::format("a grid of {} is no multiple of its cluster {}", shown_extent(launch.grid),
                               shown_extent(cluster)));
  return {};
}

LaunchCheck check_resources(const CubinKernel& kernel, const PlanKernel& settings, const KernelLaunch& launch,
                            const GpuTarget& target) {
  const uint64_t threads = launch.block.count();
  if (threads > max_threads(kernel, target))
    return {Refusal::kResources,
            fmt::format("a block of {} threads, but the kernel's {} registers or launch bounds allow {}",
                        threads, kernel.registers, max_threads(kernel, target))};
  if (kernel.static_shared > uint32_t(target.shared_per_block))
    return {Refusal::kValue,
            fmt::format("{} bytes of static shared memory; at most {}: use extern __shared__",
                        kernel.static_shared, target.shared_per_block)};
  const uint32_t free = max_dynamic_shared(kernel, target);
  const uint32_t unasked =
      uint32_t(target.shared_per_block) - std::min(uint32_t(target.shared_per_block), kernel.static_shared);
  const uint32_t allowed = std::min(free, std::max(unasked, settings.max_dynamic_shared));
  if (launch.shared_bytes > allowed)
    return {
        Refusal::kValue,
        fmt::format("{} bytes of dynamic shared memory; at most {}{}", launch.shared_bytes, allowed,
                    launch.shared_bytes <= free
                        ? " unless cudaFuncSetAttribute raises cudaFuncAttributeMaxDynamicSharedMemorySize"
                        : " on this GPU")};
  return {};
}

}  // namespace

LaunchCheck check_launch(const CubinKernel& kernel, const PlanKernel& settings, const KernelLaunch& launch,
                         const GpuTarget& target) {
  LaunchCheck found = check_extents(launch, target);
  if (found.refusal == Refusal::kNone) found = check_cluster(kernel, settings, launch, target);
  if (found.refusal == Refusal::kNone) found = check_resources(kernel, settings, launch, target);
  if (found.refusal != Refusal::kNone || !launch.cooperative) return found;
  const uint64_t room =
      uint64_t(target.multiprocessors) *
      uint64_t(resident_blocks(kernel, uint32_t(launch.block.count()), launch.shared_bytes, target));
  if (launch.grid.count() > room)
    return {Refusal::kCooperative, fmt::format("a cooperative grid of {} blocks; {} are on the GPU at once",
                                               launch.grid.count(), room)};
  return {};
}

uint32_t max_threads(const CubinKernel& kernel, const GpuTarget& target) {
  uint32_t most = kernel.max_threads > 0 ? kernel.max_threads : uint32_t(target.max_threads_per_block);
  const auto warp = uint32_t(target.warp_size);
  while (most > warp && resident_blocks(kernel, most, 0, target) == 0) most = (most - 1) / warp * warp;
  return most;
}

uint32_t max_dynamic_shared(const CubinKernel& kernel, const GpuTarget& target) {
  const auto most = uint32_t(target.shared_per_block_optin);
  return most - std::min(most, kernel.static_shared);
}

int32_t resident_blocks(const CubinKernel& kernel, uint32_t threads, uint64_t dynamic_shared,
                        const GpuTarget& target) {
  if (threads == 0 || threads > uint32_t(target.max_threads_per_block)) return 0;
  if (kernel.max_threads > 0 && threads > kernel.max_threads) return 0;
  if (dynamic_shared > max_dynamic_shared(kernel, target)) return 0;
  const uint64_t warps = rounded_up(threads, uint64_t(target.warp_size)) / uint64_t(target.warp_size);
  uint64_t blocks =
      std::min<uint64_t>(uint64_t(target.max_blocks_per_multiprocessor),
                         uint64_t(target.max_threads_per_multiprocessor / target.warp_size) / warps);
  if (kernel.registers > kRegistersOfThread) return 0;
  if (kernel.registers > 0) {
    const uint64_t warp_registers =
        rounded_up(uint64_t(kernel.registers) * uint64_t(target.warp_size), kRegisterUnit);
    const uint64_t part_warps =
        uint64_t(target.registers_per_multiprocessor) / kRegisterParts / warp_registers;
    // The check of a block assumes warps in all four parts.
    if (rounded_up(warps, kRegisterParts) * warp_registers > uint64_t(target.registers_per_multiprocessor))
      return 0;
    blocks = std::min(blocks, part_warps * kRegisterParts / warps);
  }
  const uint64_t shared = rounded_up(
      kernel.static_shared + dynamic_shared + uint64_t(target.reserved_shared_per_block), kSharedUnit);
  return int32_t(std::min(blocks, uint64_t(target.shared_per_multiprocessor) / shared));
}

}  // namespace temper::env
