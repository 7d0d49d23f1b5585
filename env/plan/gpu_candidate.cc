#include "env/plan/gpu_candidate.h"

#include <cstdint>
#include <cstring>

#include "env/plan/plan.h"

namespace temper::env {
namespace {

void append(std::string& bytes, const std::string& part) {
  const uint64_t size = part.size();
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += part;
}

bool take(const std::string& bytes, size_t& at, uint64_t& number) {
  if (bytes.size() - at < sizeof number) return false;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  at += sizeof number;
  return true;
}

bool take(const std::string& bytes, size_t& at, std::string& part) {
  uint64_t size = 0;
  if (!take(bytes, at, size) || bytes.size() - at < size) return false;
  part = bytes.substr(at, size);
  at += size;
  return true;
}

}  // namespace

std::string to_bytes(const GpuCandidate& candidate) {
  const double took[] = {candidate.compile_ms, candidate.plan_ms};
  std::string bytes(reinterpret_cast<const char*>(took), sizeof took);
  const uint64_t cubins = candidate.cubins.size();
  bytes.append(reinterpret_cast<const char*>(&cubins), sizeof cubins);
  for (const std::string& cubin : candidate.cubins) append(bytes, cubin);
  for (const std::string& plan : candidate.plans) append(bytes, plan);
  return bytes;
}

std::optional<GpuCandidate> gpu_candidate_from(const std::string& bytes) {
  GpuCandidate candidate;
  double took[2];
  size_t at = sizeof took;
  if (bytes.size() < at) return std::nullopt;
  std::memcpy(took, bytes.data(), at);
  candidate.compile_ms = took[0];
  candidate.plan_ms = took[1];
  uint64_t cubins = 0;
  if (!take(bytes, at, cubins) || cubins > kMaxPlanCubins) return std::nullopt;
  while (cubins-- > 0)
    if (!take(bytes, at, candidate.cubins.emplace_back())) return std::nullopt;
  while (at < bytes.size())
    if (!take(bytes, at, candidate.plans.emplace_back())) return std::nullopt;
  return candidate;
}

}  // namespace temper::env
