#include "env/languages/language.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace temper::env {
namespace {

constexpr const Language* kLanguages[] = {&kCpp, &kCuda, &kTriton, &kKernelBench};

}  // namespace

std::span<const Language* const> languages() { return kLanguages; }

std::vector<std::string> language_names() {
  std::vector<std::string> names;
  for (const Language* language : kLanguages) names.push_back(language->name);
  return names;
}

std::vector<std::string> task_file_languages() {
  std::vector<std::string> names;
  for (const Language* language : kLanguages)
    if (language->form != Form::kModule) names.push_back(language->name);
  return names;
}

const Language& find_language(const std::string& name) {
  const auto* const found = std::ranges::find(kLanguages, name, &Language::name);
  if (found != std::end(kLanguages)) return **found;
  throw ConfigError("language: '{}' is unknown; there is: {}", name, fmt::join(language_names(), " "));
}

const std::string& fence_word(const Language& language) {
  return language.fence.empty() ? language.name : language.fence;
}

const Language* language_of_extension(const std::string& extension) {
  const auto* const found = std::ranges::find(kLanguages, extension, &Language::extension);
  return found != std::end(kLanguages) ? *found : nullptr;
}

std::string c_signature(const std::string& entry_point, const std::vector<CallParameter>& parameters) {
  using enum CallParameter::Role;
  std::vector<std::string> arguments;
  for (const CallParameter& one : parameters)
    arguments.push_back((one.role == kInput ? "const " : "") + one.type + (one.role == kSize ? " " : "* ") +
                        one.name);
  return fmt::format("extern \"C\" void {}({})", entry_point, fmt::join(arguments, ", "));
}

}  // namespace temper::env
