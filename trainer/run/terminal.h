#pragma once
// The terminal and a run's log, line by line.

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace temper::trainer {

// The name of the logger that writes a run's log. The logger exists only during a run.
constexpr const char* kRunLog = "run";

// Sets whether this process writes to the terminal. Of several ranks only the first does.
void use_terminal(bool ours);
bool terminal_is_ours();

// One line, on the terminal and in the run's log.
void say_line(const std::string& line);
void say_line(const std::string& shown, const std::string& logged);  // the log may have more to say
// Prints one line on standard error, so that it is not mixed with a command's output.
void say_beside(const std::string& line);
template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  say_line(fmt::format(text, std::forward<Args>(args)...));
}

std::optional<size_t> terminal_columns();  // of standard output; nothing where that is no terminal

// Of a line that must fit a terminal; of equal ranks the first goes first.
struct LinePart {
  std::string text;
  int rank = 0;  // what has the highest is left out first
};
std::string fitting(std::vector<LinePart> parts, size_t columns);

using ProgressFunction = std::function<void(int64_t done, int64_t total)>;

// A bar that starts with the first call and ends with the last; `keep` leaves its line.
ProgressFunction progress_bar(const std::string& title, bool keep = true);

}  // namespace temper::trainer
