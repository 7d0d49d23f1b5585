#include "env/kernelbench/module_candidate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/input/parts.h"

namespace temper::env {
namespace {

constexpr char kCandidateMark[] = {'T', 'M', 'O', 'D', '0', '0', '0', '1'};

}  // namespace

bool is_extension_key(const std::string& key) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return !key.empty() && key.size() <= kMaxExtensionKeyBytes && std::ranges::all_of(key, digit);
}

std::string backend_of(const std::string& source) {
  const auto has = [&](const char* word) { return source.find(word) != std::string::npos; };
  return has("import triton") && !has("cpp_extension") && !has("load_inline") ? "triton" : "cuda";
}

std::string to_bytes(const ModuleCandidate& candidate) {
  std::string bytes(kCandidateMark, sizeof kCandidateMark);
  bytes.append(reinterpret_cast<const char*>(&candidate.compile_ms), sizeof candidate.compile_ms);
  append_part(bytes, candidate.source);
  for (const ModuleExtension& extension : candidate.extensions) {
    append_part(bytes, extension.key);
    append_part(bytes, extension.bytes);
  }
  return bytes;
}

std::optional<ModuleCandidate> module_candidate_from(const std::string& bytes) {
  if (bytes.size() > kMaxModuleBytes) return std::nullopt;
  Parts parts(bytes);
  char mark[sizeof kCandidateMark] = {};
  ModuleCandidate candidate;
  if (!parts.take(mark) || std::memcmp(mark, kCandidateMark, sizeof mark) != 0) return std::nullopt;
  if (!parts.take(candidate.compile_ms) || !std::isfinite(candidate.compile_ms) || candidate.compile_ms < 0)
    return std::nullopt;
  if (!parts.take(candidate.source, kMaxModuleBytes)) return std::nullopt;
  while (!parts.ended()) {
    ModuleExtension& extension = candidate.extensions.emplace_back();
    if (candidate.extensions.size() > kMaxExtensions) return std::nullopt;
    if (!parts.take(extension.key, kMaxExtensionKeyBytes) || !is_extension_key(extension.key))
      return std::nullopt;
    if (!parts.take(extension.bytes, kMaxModuleBytes)) return std::nullopt;
  }
  return candidate;
}

}  // namespace temper::env
