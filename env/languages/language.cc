#include "env/languages/language.h"

#include "base/error.h"

namespace temper {

Found Language::gate(const std::string& source) const {
  constexpr size_t kMaxSourceBytes = 64 << 10;
  if (source.size() > kMaxSourceBytes) return Finding{VerdictKind::kFailCompile, "source_too_long"};
  if (source.find('\0') != std::string::npos) return Finding{VerdictKind::kFailCompile, "nul_byte"};
  if (source.find(entry_point) == std::string::npos)
    return Finding{VerdictKind::kFailParse, "no_entry_point"};
  return std::nullopt;
}

const Language& find_language(const std::string& name) {
  static const Language* const kLanguages[] = {&kCpp, &kCuda};
  std::string known;
  for (const Language* language : kLanguages) {
    if (language->name == name) return *language;
    known += " " + language->name;
  }
  throw ConfigError("language: '{}' is unknown; there is:{}", name, known);
}

}  // namespace temper
