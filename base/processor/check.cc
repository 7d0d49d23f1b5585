// A program that was compiled for one machine's processor would end on an older one with SIGILL and without a
// word, say on another node of a shared file system. This looks first. It is compiled for any x86-64 and runs
// before other constructors.

#include <cstdio>
#include <cstdlib>

namespace {

[[noreturn]] void refuse(const char* feature) {
  std::fprintf(
      stderr,
      "this program was compiled for a processor with %s, which this machine's has not; build it here, or "
      "for any x86-64 with: cmake build -DTEMPER_NATIVE=OFF\n",
      feature);
  std::_Exit(3);
}

// __builtin_cpu_supports takes literals alone.
__attribute__((constructor(101))) void check_processor() {
  __builtin_cpu_init();
#define TEMPER_NEEDS(feature) \
  if (!__builtin_cpu_supports(feature)) refuse(feature);
  TEMPER_PROCESSOR_NEEDS
#undef TEMPER_NEEDS
}

}  // namespace
