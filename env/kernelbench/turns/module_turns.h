#pragma once
// Lanes that judge modules side by side on one GPU. Most of a verdict needs no quiet: processes start, sources are imported and
// compiled, first calls and checks are made, by as many lanes as memory allows. While calls are timed, all processes of the other
// lanes are stopped, references and candidates alike, and what they have left on the GPU is done first.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "env/box/shared_memory.h"
#include "env/kernelbench/turns/process_tree.h"

namespace temper::env {

// A clock that stands still while other lanes have stopped this one's processes. Limits of time are by it.
std::chrono::nanoseconds lane_clock();

class ModuleTurns {
 public:
  // Joins the lanes of that GPU, of all judges of this user. lane_clock() is this lane's from now on; there is one in a process.
  // Errors: WorldError if there is no place left.
  explicit ModuleTurns(std::string gpu);
  ~ModuleTurns();
  ModuleTurns(const ModuleTurns&) = delete;
  ModuleTurns& operator=(const ModuleTurns&) = delete;

  // The processes that others stop, each with all that it has started. At most kMostRoots. They are to be started while hold() keeps
  // others from timing calls.
  static constexpr size_t kMostRoots = 4;
  void tell(const std::vector<pid_t>& roots);
  Fd hold() const;

  // Memory of the GPU for this lane's problem, in place of what it had. Waits until all lanes' together fit into `capacity`; one that waits
  // longer comes first, and one alone always gets it. Errors: WorldError once interrupted().
  void claim(int64_t bytes, int64_t capacity);
  // Whether another lane waits for memory. Who has a problem open that nobody asks about closes it and claims nothing.
  bool memory_is_wanted() const;

  // While it lives no other lane's processes run.
  class Alone {
   public:
    explicit Alone(ModuleTurns& turns);
    ~Alone();
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    ModuleTurns& turns_;
    Fd lock_;
    std::vector<size_t> slots_;  // of the lanes that are stopped
    std::vector<ProcessTree> stopped_;
  };

 private:
  struct Slot;
  friend std::chrono::nanoseconds lane_clock();
  Slot& slot(size_t index) const;
  bool taken(size_t index) const;
  void go_on_if_left_stopped();
  bool fits(int64_t bytes, int64_t capacity) const;

  std::string gpu_;
  Fd file_;
  Mapping memory_;
  size_t mine_ = 0;
};

}  // namespace temper::env
