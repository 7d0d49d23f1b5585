#include "trainer/run/terminal.h"

#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/input/wrapped.h"
#include "base/progress.h"

namespace temper::trainer {
namespace {

bool g_terminal = true;

}  // namespace

void use_terminal(bool ours) { g_terminal = ours; }
bool terminal_is_ours() { return g_terminal; }

void say_line(const std::string& line) { say_line(line, line); }

void say_line(const std::string& shown, const std::string& logged) {
  if (g_terminal) {
    erase_progress_line();
    std::fputs((shown + "\n").c_str(), stdout);  // whoever read it may be gone: no reason to end
    std::fflush(stdout);
  }
  if (spdlog::default_logger_raw()->name() == kRunLog) spdlog::info("{}", logged);
}

void say_beside(const std::string& line) {
  if (!g_terminal) return;
  erase_progress_line();
  std::fputs((line + "\n").c_str(), stderr);
}

std::optional<size_t> terminal_columns() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

std::string fitting(std::vector<LinePart> parts, size_t columns) {
  const auto joined = [&] {
    std::string line;
    for (const LinePart& part : parts) line += (line.empty() ? "" : "  ") + part.text;
    return line;
  };
  std::erase_if(parts, [](const LinePart& part) { return part.text.empty(); });
  while (parts.size() > 1 && columns_of(joined()) > columns)
    parts.erase(std::ranges::max_element(parts, {}, &LinePart::rank));
  return joined();
}

ProgressFunction progress_bar(const std::string& title, bool keep) {
  if (!g_terminal) return {};
  auto bar = std::make_shared<std::unique_ptr<Progress>>();
  return [=](int64_t done, int64_t total) {
    if (!*bar) *bar = std::make_unique<Progress>(title, total);
    (*bar)->set(done);
    if (done >= total) (*bar)->finish(keep);
  };
}

}  // namespace temper::trainer
