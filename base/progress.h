#pragma once
// What the terminal shows: a bar that redraws on a terminal and prints a line at the end elsewhere.

#include <cstdint>
#include <string>

namespace temper {

class Progress {
 public:
  // `total` 0: unknown, counts only. Nothing is drawn where stderr is not a terminal, but for the final line.
  Progress(std::string title, int64_t total);
  ~Progress();  // draws the final state
  void set(int64_t done, const std::string& note = "");
  void add(int64_t more = 1, const std::string& note = "") { set(done_ + more, note); }
  // Draws the final state now and erases (`keep` false) or keeps the line.
  void finish(bool keep = true);

 private:
  void draw(bool last);
  std::string title_, note_;
  int64_t total_, done_ = 0;
  double start_s_, drawn_s_ = 0;
  bool terminal_, finished_ = false;
};

}  // namespace temper
