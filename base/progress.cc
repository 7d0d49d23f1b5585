#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/machine/output.h"
#include "base/process.h"

namespace temper {
namespace {
constexpr int kBarWidth = 24;
constexpr double kRedrawSeconds = 0.1;
constexpr const char* kErase = "\r\033[K";

bool g_drawn = false;  // a bar stands on the terminal, and the cursor behind it
}  // namespace

Progress::Progress(std::string title, int64_t total, double log_every_s)
    : title_(std::move(title)),
      total_(total),
      start_s_(now_s()),
      drawn_s_(start_s_),
      terminal_(::isatty(STDERR_FILENO)),
      redraw_s_(terminal_ ? kRedrawSeconds : log_every_s) {
  if (terminal_) draw(false);
}

Progress::~Progress() {
  if (!finished_) finish();
}

void Progress::set(int64_t done, const std::string& note) {
  done_ = done;
  note_ = note;
  if (now_s() - drawn_s_ >= redraw_s_) draw(false);
}

void Progress::finish(bool keep) {
  finished_ = true;
  if (keep)
    draw(true);
  else if (terminal_)
    erase_progress_line();
}

void erase_progress_line() {
  if (!std::exchange(g_drawn, false)) return;
  std::fputs(kErase, stderr);
  std::fflush(stderr);
}

void Progress::draw(bool last) {
  drawn_s_ = now_s();
  if (terminal_ && !last && errors_wait()) return;  // a terminal that is held shows the newest state later
  std::string line = fmt::format("{:<12}", title_);
  if (total_ > 0) {
    const int filled = int(std::clamp<int64_t>(kBarWidth * done_ / total_, 0, kBarWidth));
    line += fmt::format(" [{:#<{}}{:.<{}}] {}/{}", "", filled, "", kBarWidth - filled, done_, total_);
  } else {
    line += fmt::format(" {}", done_);
  }
  line += fmt::format("  {:.1f} s  {}", drawn_s_ - start_s_, note_);
  if (terminal_) line = kErase + line;
  if (last || !terminal_) line += "\n";
  g_drawn = terminal_ && !last;
  std::fputs(line.c_str(), stderr);  // whoever read it may be gone: no reason to end
  std::fflush(stderr);
}

}  // namespace temper
