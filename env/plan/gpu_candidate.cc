#include "env/plan/gpu_candidate.h"

#include <cstdint>
#include <cstring>

namespace temper::env {
namespace {

void append(std::string& bytes, const std::string& part) {
  const uint64_t size = part.size();
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += part;
}

bool take(const std::string& bytes, size_t& at, std::string& part) {
  uint64_t size = 0;
  if (bytes.size() - at < sizeof size) return false;
  std::memcpy(&size, bytes.data() + at, sizeof size);
  at += sizeof size;
  if (bytes.size() - at < size) return false;
  part = bytes.substr(at, size);
  at += size;
  return true;
}

}  // namespace

std::string to_bytes(const GpuCandidate& candidate) {
  const double took[] = {candidate.compile_ms, candidate.plan_ms};
  std::string bytes(reinterpret_cast<const char*>(took), sizeof took);
  append(bytes, candidate.cubin);
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
  if (!take(bytes, at, candidate.cubin)) return std::nullopt;
  while (at < bytes.size())
    if (!take(bytes, at, candidate.plans.emplace_back())) return std::nullopt;
  return candidate;
}

}  // namespace temper::env
