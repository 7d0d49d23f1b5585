#pragma once
// A candidate on its way from the core that compiled its extensions to a GPU.

#include <optional>
#include <string>
#include <vector>

namespace temper::env {

// What torch.utils.cpp_extension would have built, under the digest of its sources and flags.
struct ModuleExtension {
  std::string key;    // hexadecimal digits
  std::string bytes;  // of a shared object
};

struct ModuleCandidate {
  std::string source;
  std::vector<ModuleExtension> extensions;
  double compile_ms = 0;
  // Whether it is held to the list of modules that it may import (env/plan/triton/imports.py). Tests of what stands behind that
  // list do without it; on its way a candidate is always held to it.
  bool gated = true;
};

inline constexpr size_t kMaxExtensions = 16, kMaxExtensionKeyBytes = 128;
inline constexpr size_t kMaxModuleBytes = 60 << 20;  // of a whole candidate: less than a message may have

bool is_extension_key(const std::string& key);

// What KernelBench calls the backend of a source: "triton" where it uses Triton and compiles no CUDA, else "cuda".
std::string backend_of(const std::string& source);

std::string to_bytes(const ModuleCandidate& candidate);
std::optional<ModuleCandidate> module_candidate_from(
    const std::string& bytes);  // nothing if they are no candidate

}  // namespace temper::env
