#pragma once
// The broker's side of the oracle: inputs, references, comparison and the timed baseline. Trusted, but it may
// die. Every call throws WorldError if the oracle is gone, silent for a minute, or reports an error.

#include <chrono>
#include <string>
#include <vector>

#include "env/box/call_time.h"
#include "env/box/namespaces.h"
#include "env/box/shared_memory.h"
#include "env/call/draw_turns.h"
#include "env/call/fill.h"
#include "env/call/protocol.h"
#include "env/task/task.h"

namespace temper::env {

inline constexpr int kDrawsAtOnce = 8;

struct DrawRequest {
  uint32_t task = 0;
  int32_t shape = -1;  // a number as in shape_of (env/task/task.h)
  int32_t count = 1;   // ≤ kDrawsAtOnce
  double magnitude = 1;
  bool perturb = false;
  uint64_t seed = 0;
  DrawTurn turn = {};  // the turn of the first draw
};

class OracleProcess {
 public:
  // Starts it and returns at once.
  OracleProcess(const std::string& program, const std::vector<Task>& tasks);
  // Errors: ConfigError if a reference does not compile, WorldError if the program does not start.
  void wait_ready();

  void draw(const DrawRequest& request);
  OracleReply compare(int32_t draw,
                      Fill fill);      // kOk or kMismatch; the call's fill tells what was left unwritten
  void write_reference(int32_t draw);  // in f32, into the outputs in the arena

  // The timed baseline: between the two only `baseline` and `null_calls` may be called.
  void begin_serving();
  CallTime baseline(int32_t draw);
  std::vector<CallTime> null_calls(int calls);
  void end_serving();

  uint8_t* arena() const { return arena_.data(); }
  pid_t pid() const { return process_.pid(); }

 private:
  OracleReply exchange(OracleRequest request);
  OracleReply await_reply();
  CallTime serve(uint32_t null_call, int32_t draw);
  ControlPage& page() const { return *reinterpret_cast<ControlPage*>(page_.data()); }

  Fd socket_;
  Mapping arena_, page_;
  BoxProcess process_;
  CallWatch watch_;
  uint32_t sequence_ = 0, number_ = 0;
};

// The most bytes that one case of any task takes: packed, as an oracle has it, and laid in any way.
int64_t largest_case(const std::vector<Task>& tasks);
int64_t largest_laid_case(const std::vector<Task>& tasks);

}  // namespace temper::env
