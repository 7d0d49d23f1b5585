#pragma once
// What tests of the boxes share: the system's compiler and fresh runners.

#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/process.h"
#include "env/box/runner_process.h"
#include "env/compile/compile_box.h"
#include "env/languages/language.h"
#include "env/verdict/verdict.h"
#include "tests/patience.h"

namespace temper::env {

// Another one in each process, as limits of processes count by user: tests run side by side.
inline const uid_t kTestUser = 64'000 + uid_t(::getpid()) % 1'000;

inline const Toolchain& test_toolchain() {
  static const Toolchain tools = find_toolchain(kCpp.compiler_flags, kCpp.entry_symbol);
  return tools;
}

// What compiles is not asked how long it takes on a busy machine.
inline CompileQuota test_quota() { return {.wall = kPatience_ms}; }

// Whose entry point is `extern "C" void kernel(…)` with any arguments.
inline CompileResult compile_here(const std::string& source, CompileQuota quota = test_quota()) {
  const std::string entry = "\nextern \"C\" [[gnu::alias(\"kernel\")]] void temper_kernel();\n";
  return compile(test_toolchain(), source + entry, quota, kTestUser);
}

inline RunnerOptions test_runner_options() {
  return {.program = TEMPER_BINARY_DIR "/temper-runner",
          .memory_bytes = 512 << 20,
          .cpu_s = 5,
          .arena_bytes = 4 << 20,
          .user = kTestUser};
}

// What became of a candidate: of its load or of the first of three calls that failed, "" if all was well.
inline std::string run_here(const std::string& source, std::chrono::milliseconds budget = kPatience_ms) {
  const auto compiled = compile_here(source);
  if (!compiled.ok) return compiled.reason + " " + compiled.diagnostics;
  RunnerProcess runner(test_runner_options());
  runner.wait_ready();
  std::string detail;
  std::string failed = runner.load(compiled.object, budget, detail);
  for (int i = 0; i < 3 && failed.empty(); ++i) failed = runner.call({{4096, 1 << 20}, {1000}});
  return failed;
}

// A core can be too busy to time a candidate on. Then a judge tries again, and so does a test.
template <class Procedure>
Verdict judged_at_last(const Procedure& procedure) {
  for (const double until_s = now_s() + kPatience_s;;) {
    try {
      return procedure();
    } catch (const WorldError& busy) {
      if (now_s() > until_s || !std::string_view(busy.what()).ends_with("too busy to time a candidate on"))
        throw;
    }
  }
}

}  // namespace temper::env
