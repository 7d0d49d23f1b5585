#include "env/compile/toolchain.h"

#include <fmt/ranges.h>

#include "env/compile/cxx_driver.h"

namespace temper::env {

std::string description(const Toolchain& tools) {
  std::string text = tools.version;
  for (const auto& step : tools.steps) text += fmt::format("; {}", fmt::join(step.program, " "));
  return text;
}

Toolchain find_toolchain(const std::vector<std::string>& flags, const std::string& entry) {
  const CxxDriver driver;
  Toolchain tools;
  tools.version = driver.version();
  tools.source = kSourceFile;
  tools.object = kObjectFile;
  tools.steps = {
      {driver.compiler(fmt::format("-S -x c++ {} {} -o candidate.s", fmt::join(flags, " "), kSourceFile))},
      {driver.assembler("candidate.s", "candidate.o")},
      {driver.linker("candidate.o", kObjectFile, entry)},
  };
  return tools;
}

}  // namespace temper::env
