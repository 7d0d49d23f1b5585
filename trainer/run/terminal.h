#pragma once
// The terminal and a run's log, line by line.

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace temper {

// The name of the logger that writes a run's log; without a run there is none.
constexpr const char* kRunLog = "run";

// Whether the terminal is ours: of several ranks it is the first one's.
void use_terminal(bool ours);
bool terminal_is_ours();

// One line, on the terminal and in the run's log.
void say_line(const std::string& line);
// One line on standard error, where it is in nobody's way who reads what a command prints.
void say_beside(const std::string& line);
template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  say_line(fmt::format(text, std::forward<Args>(args)...));
}

using ProgressFunction = std::function<void(int64_t done, int64_t total)>;

// A bar that starts with the first call and ends with the last; `keep` leaves its line.
ProgressFunction progress_bar(const std::string& title, bool keep = true);

}  // namespace temper
