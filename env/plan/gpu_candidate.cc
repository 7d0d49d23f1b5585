#include "env/plan/gpu_candidate.h"

#include <cstdint>

#include "base/input/parts.h"
#include "env/plan/plan.h"

namespace temper::env {

std::string to_bytes(const GpuCandidate& candidate) {
  const double took[] = {candidate.compile_ms, candidate.plan_ms};
  std::string bytes(reinterpret_cast<const char*>(took), sizeof took);
  const uint64_t cubins = candidate.cubins.size();
  bytes.append(reinterpret_cast<const char*>(&cubins), sizeof cubins);
  for (const std::string& cubin : candidate.cubins) append_part(bytes, cubin);
  for (const std::string& plan : candidate.plans) append_part(bytes, plan);
  return bytes;
}

std::optional<GpuCandidate> gpu_candidate_from(const std::string& bytes) {
  GpuCandidate candidate;
  Parts parts(bytes);
  if (!parts.take(candidate.compile_ms) || !parts.take(candidate.plan_ms)) return std::nullopt;
  uint64_t cubins = 0;
  if (!parts.take(cubins) || cubins > kMaxPlanCubins) return std::nullopt;
  while (cubins-- > 0)
    if (!parts.take(candidate.cubins.emplace_back(), bytes.size())) return std::nullopt;
  while (!parts.ended())
    if (!parts.take(candidate.plans.emplace_back(), bytes.size())) return std::nullopt;
  return candidate;
}

}  // namespace temper::env
