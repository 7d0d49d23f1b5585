#include "env/verdict/source_gate.h"

namespace temper::env {

Found gate_source(const Language& language, const std::string& source) {
  constexpr size_t kMaxSourceBytes = 64 << 10;
  if (source.size() > kMaxSourceBytes) return Finding{VerdictKind::kFailCompile, "source_too_long"};
  if (source.find('\0') != std::string::npos) return Finding{VerdictKind::kFailCompile, "nul_byte"};
  if (source.find(language.entry_point) == std::string::npos)
    return Finding{VerdictKind::kFailParse, "no_entry_point", language.no_entry_words};
  return std::nullopt;
}

}  // namespace temper::env
