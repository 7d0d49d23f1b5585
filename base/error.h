#pragma once
// Three kinds of failure, three tools.
//
//   the user is wrong    ConfigError, caught once in main, exit 2
//   the world is wrong   WorldError where nothing can go on (exit 3); otherwise a value with a reason
//   we are wrong         TEMPER_CHECK: prints the expression and both values, ends the whole job

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace temper {

// The user's mistake. The text names the field, its value and what is allowed.
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  template <class... Args>
    requires(sizeof...(Args) > 0)
  explicit ConfigError(fmt::format_string<Args...> text, Args&&... args)
      : std::runtime_error(fmt::format(text, std::forward<Args>(args)...)) {}
};

// The machine's failure: a full disk, a missing compiler, a dead worker. Says what to do where that is known.
class WorldError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  template <class... Args>
    requires(sizeof...(Args) > 0)
  explicit WorldError(fmt::format_string<Args...> text, Args&&... args)
      : std::runtime_error(fmt::format(text, std::forward<Args>(args)...)) {}
};

// WorldError for a failed system call: "cannot WHAT: strerror(errno)".
[[nodiscard]] inline WorldError system_error(std::string_view what) {
  const int error = errno;
  return WorldError("cannot {}: {}", what, std::strerror(error));
}

// Exit codes of every command.
enum ExitCode : int {
  kExitOk = 0,
  kExitCandidateFailed = 1,
  kExitUser = 2,
  kExitWorld = 3,
  kExitInterrupted = 130
};

[[noreturn]] inline void check_failed(const char* file, int line, const char* expression,
                                      const std::string& detail) {
  std::fprintf(stderr, "%s:%d: check failed: %s (%s)\n", file, line, expression, detail.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace temper

#define TEMPER_CHECK(cond, ...)                                                         \
  do {                                                                                  \
    if (!(cond)) [[unlikely]]                                                           \
      ::temper::check_failed(__FILE__, __LINE__, #cond, ::fmt::format("" __VA_ARGS__)); \
  } while (0)

#define TEMPER_CHECK_EQ(a, b)                                                \
  do {                                                                       \
    const auto& check_a_ = (a);                                              \
    const auto& check_b_ = (b);                                              \
    if (!(check_a_ == check_b_)) [[unlikely]]                                \
      ::temper::check_failed(__FILE__, __LINE__, #a " == " #b,               \
                             ::fmt::format("{} vs {}", check_a_, check_b_)); \
  } while (0)
