#include "env/languages/language.h"

#include "base/error.h"

namespace temper {

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
