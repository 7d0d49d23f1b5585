#pragma once
// A fuzz target: a reader of bytes that strangers write. It must come back whatever the bytes are, and throw
// nothing but what its callers take for the stranger's mistake.
//
// Built by clang (preset fuzz), each target is a program of libFuzzer's. Everywhere else all of them are one
// program that feeds them the files of tests/fuzz/corpus.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace temper::fuzz {

using Target = void (*)(std::string_view bytes);

struct Registration {
  Registration(const char* name, Target target);
};

}  // namespace temper::fuzz

#ifdef TEMPER_LIBFUZZER
#define FUZZ_TARGET(name)                                                   \
  static void fuzz_##name(std::string_view bytes);                          \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { \
    fuzz_##name({reinterpret_cast<const char*>(data), size});               \
    return 0;                                                               \
  }                                                                         \
  static void fuzz_##name([[maybe_unused]] std::string_view bytes)
#else
#define FUZZ_TARGET(name)                                                          \
  static void fuzz_##name(std::string_view bytes);                                 \
  static const temper::fuzz::Registration registration_##name(#name, fuzz_##name); \
  static void fuzz_##name([[maybe_unused]] std::string_view bytes)
#endif
