#pragma once
// What the terminal shows: a bar that redraws itself. Elsewhere, in a log, it is a line now and then and one
// at the end. Of one thread.

#include <cstdint>
#include <string>

namespace temper {

class Progress {
 public:
  // `total` 0: unknown, counts only. `log_every_s`: between lines where stderr is not a terminal.
  Progress(std::string title, int64_t total, double log_every_s = 20);
  ~Progress();  // draws the final state
  void set(int64_t done, const std::string& note = "");
  void add(int64_t more = 1, const std::string& note = "") { set(done_ + more, note); }
  // Draws the final state now and erases (`keep` false) or keeps the line.
  void finish(bool keep = true);

 private:
  void draw(bool last);
  std::string title_, note_;
  int64_t total_, done_ = 0;
  double start_s_, drawn_s_;
  bool terminal_, finished_ = false;
  double redraw_s_;
};

// Before another line is printed: a bar that stands on the terminal makes room, and draws itself again below that line.
void erase_progress_line();

}  // namespace temper
